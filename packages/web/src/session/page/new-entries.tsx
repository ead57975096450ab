import type { SessionNode } from "@coppice/client";
import { useDevices } from "@coppice/react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { deviceName } from "../model/cursor-marks.ts";
import { countEntries } from "../model/format.ts";

/** An agent writes many entries: they are told together, at most once in this time, in ms. */
const pauseMs = 3_000;

/** Tells those who cannot see it, politely, what other devices have added to the branch that is shown. */
export function NewEntries({ nodes }: { readonly nodes: readonly SessionNode[] }): ReactNode {
  const devices = useDevices();
  const [text, setText] = useState("");
  const told = useRef(nodes);
  useEffect(() => {
    const timer = setTimeout(() => {
      const before = told.current;
      told.current = nodes;
      // Another branch is no news of this one.
      if (before[0] !== nodes[0] || before.at(-1) !== nodes[before.length - 1]) return;
      const others = nodes
        .slice(before.length)
        .filter(({ deviceId }) => !devices.some(({ id, isThis }) => isThis && id === deviceId));
      if (others.length === 0) return;
      const names = [
        ...new Set(others.map(({ deviceId }) => deviceName(deviceId, devices.find(({ id }) => id === deviceId)?.name))),
      ];
      setText(`${countEntries(others.length)} more from ${names.join(", ")}`);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [nodes, devices]);
  return (
    <p role="status" className="visually-hidden">
      {text}
    </p>
  );
}
