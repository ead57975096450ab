import { type ReactNode, useEffect, useState } from "react";
import { reportFailure } from "../status/announcements.ts";

/** A text as a QR code, dark on light in both schemes: not every camera reads the reverse. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const [rows, setRows] = useState<readonly (readonly boolean[])[]>();
  useEffect(() => {
    let isWanted = true;
    import("uqr").then(({ encode }) => {
      if (isWanted) setRows(encode(text, { ecc: "M", border: 2 }).data);
    }, reportFailure);
    return () => {
      isWanted = false;
    };
  }, [text]);
  if (rows === undefined) return null;
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg
      className="qr-code"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <path d={path} />
    </svg>
  );
}
