import type { SharedSession } from "@coppice/client";
import { useDevices, useEntry, useLog } from "@coppice/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { deviceColour, deviceName } from "../model/cursor-marks.ts";
import { describeEntry, describeMove, shownIdChars } from "../model/entry-words.ts";
import { dayOf, formatDay, formatTime } from "../model/format.ts";
import { type LogLine, layOutLog } from "../model/log-lines.ts";
import { toShownLine } from "../model/shown-text.ts";
import { deviceStyle } from "../parts/device-mark.tsx";
import "./log.css";

/** What the log tells the page. */
export interface LogPaneProps {
  readonly session: SharedSession;
  readonly lookedAtId: string | undefined;
  readonly onLookAt: (entryId: string) => void;
}

/** Everything that was appended, in the order every device agrees on, moves included. */
export function LogPane({ session, lookedAtId, onLookAt }: LogPaneProps): ReactNode {
  const nodes = useLog(session);
  const devices = useDevices();
  const lines = useMemo(() => layOutLog(nodes, dayOf), [nodes]);
  const names = useMemo(() => new Map(devices.map(({ id, name }) => [id, name])), [devices]);
  const deviceIds = useMemo(() => devices.map(({ id }) => id), [devices]);
  const scroller = useRef<HTMLDivElement>(null);
  const [focusedAt, setFocusedAt] = useState<number>();
  const focused = Math.min(focusedAt ?? lines.length - 1, lines.length - 1);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback((index: number) => (lines[index]?.beginsDay === true ? 84 : 48), [lines]),
    getItemKey: useCallback((index: number) => lines[index]?.node.id ?? index, [lines]),
    initialOffset: () => lines.length * 48,
    overscan: 10,
    anchorTo: "end",
    followOnAppend: true,
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = { ArrowDown: focused + 1, ArrowUp: focused - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (next === undefined || next < 0 || next >= lines.length) return;
    event.preventDefault();
    setFocusedAt(next);
    virtualizer.scrollToIndex(next);
    requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] button`)?.focus());
  };
  if (lines.length === 0) return <p className="pane-empty">Nothing has been written yet.</p>;
  return (
    <div ref={scroller} className="log-scroller">
      <ol aria-label="Log" className="log-lines" style={{ height: virtualizer.getTotalSize() }} onKeyDown={onKeyDown}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          const { deviceId } = line.node;
          return (
            <li
              key={line.node.id}
              ref={virtualizer.measureElement}
              data-index={index}
              aria-setsize={lines.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${start}px)` }}
            >
              {line.beginsDay ? <h3 className="log-day">{formatDay(line.node.timestamp)}</h3> : null}
              <LogLineView
                session={session}
                line={line}
                deviceName={deviceName(deviceId, names.get(deviceId))}
                colour={deviceColour(deviceId, deviceIds)}
                isLookedAt={line.node.id === lookedAtId}
                isTabStop={index === focused}
                onLookAt={onLookAt}
              />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

const LogLineView = memo(function LogLineView(props: {
  readonly session: SharedSession;
  readonly line: LogLine;
  readonly deviceName: string;
  readonly colour: number;
  readonly isLookedAt: boolean;
  readonly isTabStop: boolean;
  readonly onLookAt: (entryId: string) => void;
}): ReactNode {
  const { session, line, colour, isLookedAt, isTabStop, onLookAt } = props;
  const { node, targetId } = line;
  return (
    <button
      type="button"
      className={isLookedAt ? "log-line is-looked-at" : "log-line"}
      tabIndex={isTabStop ? 0 : -1}
      style={deviceStyle(colour)}
      onClick={() => onLookAt(node.type === "leaf" || node.type === "label" ? (targetId ?? node.id) : node.id)}
    >
      <span className="log-meta">
        <span className="log-position">{line.position}</span>
        <time dateTime={node.timestamp}>{formatTime(node.timestamp)}</time>
        <span className="log-device" dir="auto">
          <span className="device-dot" aria-hidden="true" />
          {props.deviceName}
        </span>
        <span className="log-id" dir="ltr">
          {toShownLine(node.id).slice(-shownIdChars)}
        </span>
      </span>
      <span className="log-text" dir="auto">
        {node.type === "leaf" ? describeMove(node.targetId) : <EntryText session={session} id={node.id} />}
        {targetId !== undefined && session.tree.has(targetId) ? (
          <span className="muted">
            {" ("}
            <EntryText session={session} id={targetId} />)
          </span>
        ) : null}
      </span>
    </button>
  );
});

function EntryText({ session, id }: { readonly session: SharedSession; readonly id: string }): ReactNode {
  const content = useEntry(session, id);
  if (content.state === "loading") return "…";
  if (content.state === "unreadable") return "cannot be read here";
  const { mark, text } = describeEntry(content.entry);
  return mark === "→" || mark === "·" || mark === "≡" ? text : `${mark}  ${text}`;
}
