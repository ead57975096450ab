import type { CSSProperties, ReactNode } from "react";
import type { CursorMark } from "../model/cursor-marks.ts";
import "./device-mark.css";

/** Somebody's place: the device's name beside a mark of its colour. */
export function DeviceMark({ mark }: { readonly mark: CursorMark }): ReactNode {
  const { name, colour, isSelf, isRunning } = mark;
  return (
    <span
      className={isSelf ? "device-mark is-self" : "device-mark"}
      style={deviceStyle(colour)}
      title={describeMark(mark)}
    >
      <span aria-hidden="true" className={isRunning ? "device-dot is-running" : "device-dot"} />
      <span aria-hidden="true" className="device-name" dir="auto">
        {isSelf ? "you" : name}
      </span>
      <span className="visually-hidden">{describeMark(mark)}</span>
    </span>
  );
}

/** What a mark says: who stands there. */
function describeMark({ name, isSelf, isRunning }: CursorMark): string {
  const who = isSelf ? `${name} (this device) is here` : `${name} is here`;
  return isRunning ? `${who}, an agent runs` : who;
}

/** Sets `--device` to the colour of a device. */
export function deviceStyle(colour: number): CSSProperties {
  return { "--device": `var(--device-${colour})` } as CSSProperties;
}
