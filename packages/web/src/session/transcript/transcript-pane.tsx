import type { SharedSession } from "@coppice/client";
import { type Branch, useDevices } from "@coppice/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useCallback, useEffect, useMemo, useRef } from "react";
import { deviceName } from "../model/cursor-marks.ts";
import { findItemOf, layOutTranscript, type TranscriptItem } from "../model/transcript-items.ts";
import type { MenuItem } from "../parts/menu.tsx";
import { TranscriptItemView } from "./transcript-item-view.tsx";
import "./transcript.css";

/** Nearer to the end than this, in pixels, new entries are followed. */
const atEndWithin = 80;

/** What the transcript shows. */
export interface TranscriptPaneProps {
  readonly session: SharedSession;
  readonly branch: Branch;
  /** Grows when labels may have changed. */
  readonly version: number;
  /** The entry to begin with; undefined: the end. */
  readonly lookedAtId: string | undefined;
  readonly actsOf: (entryId: string) => readonly MenuItem[];
}

/** The branch as a conversation: a virtual list that stays at its end while it is there. */
export function TranscriptPane({ session, branch, version, lookedAtId, actsOf }: TranscriptPaneProps): ReactNode {
  const items = useItems(branch);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    // Both stay the same functions while the items do: with others, the list measures all of them again at each frame.
    estimateSize: useCallback((index: number) => estimateHeight(items[index]), [items]),
    getItemKey: useCallback((index: number) => items[index]?.id ?? index, [items]),
    overscan: 4,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: atEndWithin,
    paddingEnd: 24,
    paddingStart: 8,
    useAnimationFrameWithResizeObserver: true,
  });
  useStart(items, lookedAtId, {
    toItem: (index) => virtualizer.scrollToIndex(index, { align: "start" }),
    toEnd: () => virtualizer.scrollToEnd(),
  });
  const names = useDeviceNames();
  const labels = useMemo(() => new Map(items.map(({ id }) => [id, session.tree.label(id)])), [items, session, version]);
  // Of what the list knows: asking the page would make it lay itself out in the middle of every scroll.
  const { height } = virtualizer.scrollRect ?? { height: 0 };
  const isAway = virtualizer.getTotalSize() - (virtualizer.scrollOffset ?? 0) - height > height;
  return (
    <div className="transcript">
      <section ref={scroller} className="transcript-scroller" aria-label="Transcript" tabIndex={-1}>
        <div className="transcript-items" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const item = items[index];
            if (item === undefined) return null;
            return (
              <div
                key={item.id}
                ref={virtualizer.measureElement}
                data-index={index}
                className={item.id === lookedAtId ? "transcript-place is-looked-at" : "transcript-place"}
                style={{ transform: `translateY(${start}px)` }}
              >
                <TranscriptItemView
                  session={session}
                  item={item}
                  author={names(item.node.deviceId)}
                  label={labels.get(item.id)}
                  actsOf={actsOf}
                />
              </div>
            );
          })}
        </div>
      </section>
      {isAway ? (
        <button type="button" className="to-end" onClick={() => virtualizer.scrollToEnd()}>
          <span aria-hidden="true">↓</span> To the end
        </button>
      ) : null}
    </div>
  );
}

function useItems({ nodes }: Branch): readonly TranscriptItem[] {
  const before = useRef<readonly TranscriptItem[]>([]);
  return useMemo(() => {
    before.current = layOutTranscript(nodes, before.current);
    return before.current;
  }, [nodes]);
}

/** Goes to what is looked at, once for each that is; else to the end when a branch is opened. */
function useStart(
  items: readonly TranscriptItem[],
  lookedAtId: string | undefined,
  go: { toItem: (index: number) => void; toEnd: () => void },
): void {
  const gone = useRef<string | undefined>(undefined);
  useEffect(() => {
    const wanted = lookedAtId ?? `:end of ${items[0]?.id}`;
    if (items.length === 0 || gone.current === wanted) return undefined;
    const index = lookedAtId === undefined ? -1 : findItemOf(items, lookedAtId);
    if (lookedAtId !== undefined && index < 0) return undefined;
    // The list knows its height by the next frame; until then there is no end to go to.
    const frame = requestAnimationFrame(() => {
      gone.current = wanted;
      if (index < 0 || index === items.length - 1) go.toEnd();
      else go.toItem(index);
    });
    return () => cancelAnimationFrame(frame);
  });
}

/** The name of the device that wrote an entry, unless it is this one. */
function useDeviceNames(): (deviceId: string) => string | undefined {
  const devices = useDevices();
  return useMemo(() => {
    const known = new Map(devices.map((device) => [device.id, device]));
    return (deviceId: string) => {
      const device = known.get(deviceId);
      return device?.isThis === true ? undefined : deviceName(deviceId, device?.name);
    };
  }, [devices]);
}

/** A guess by kind and length; what is shown is measured. */
function estimateHeight(item: TranscriptItem | undefined): number {
  if (item === undefined || item.kind === "marks") return 28;
  if (item.kind === "assistant") return Math.min(600, 70 + item.node.jsonBytes / 8 + item.moreIds.length * 30);
  if (item.kind === "user") return Math.min(500, 80 + item.node.jsonBytes / 4);
  return 90;
}
