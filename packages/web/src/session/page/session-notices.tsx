import type { SessionProblem, SharedSession } from "@coppice/client";
import { useCursors, useDevices } from "@coppice/react";
import { type ReactNode, useMemo } from "react";
import { deviceName } from "../model/cursor-marks.ts";
import { describeResume } from "../model/resume-words.ts";

/** What somebody should know before reading on, each with what to do about it. */
export function SessionNotices(props: {
  readonly session: SharedSession;
  readonly version: number;
  readonly leafId: string | null | undefined;
  readonly problems: readonly SessionProblem[];
  readonly missingParentId: string | undefined;
  readonly elsewhereId: string | undefined;
  readonly fault: string | undefined;
  readonly lookAt: (entryId: string | undefined) => void;
  readonly tell: (work: Promise<unknown>) => void;
}): ReactNode {
  const { session, version, leafId, problems, missingParentId, elsewhereId, fault, lookAt, tell } = props;
  const devices = useDevices();
  const cursors = useCursors(session);
  const names = useMemo(() => new Map(devices.map(({ id, name }) => [id, name])), [devices]);
  const self = cursors.find((cursor) => cursor.self);
  const following = self?.following;
  const others = [...new Set(cursors.filter(({ sameDevice }) => !sameDevice).map(({ deviceId }) => deviceId))];
  const plan = useMemo(
    () => (leafId === undefined || following !== undefined ? undefined : session.planResume("fast-forward")),
    [session, version, leafId, following],
  );
  const resume = plan === undefined ? undefined : describeResume(plan, names);
  return (
    <div className="notices">
      {fault === undefined ? null : (
        <p role="alert" className="notice fault">
          {fault}
        </p>
      )}
      {leafId === undefined ? (
        <p className="notice">
          This device has not had all of this session yet: it comes when the relay can be reached.
        </p>
      ) : null}
      {problems.map(({ code, message }) => (
        <p key={code} className="notice is-warning">
          {message}
        </p>
      ))}
      {missingParentId === undefined ? null : (
        <p className="notice is-warning">The beginning of this branch has not arrived yet. It attaches by itself.</p>
      )}
      {following === undefined ? null : (
        <p className="notice">
          Following <bdi>{deviceName(following, names.get(following))}</bdi>.
          <button type="button" className="button-quiet" onClick={() => session.unfollow()}>
            Stop
          </button>
        </p>
      )}
      {elsewhereId === undefined ? null : (
        <p className="notice">
          You look at another branch.
          <button type="button" className="button-quiet" onClick={() => lookAt(undefined)}>
            Back to yours
          </button>
        </p>
      )}
      {resume === undefined ? null : (
        <p className="notice">
          <bdi>{resume}</bdi>
          <button type="button" className="button-quiet" onClick={() => tell(session.resume("fast-forward"))}>
            Go on there
          </button>
        </p>
      )}
      {following !== undefined || others.length === 0 ? null : (
        <p className="notice">
          {others.map((id) => (
            <button
              key={id}
              type="button"
              className="button-quiet"
              onClick={() => {
                lookAt(undefined);
                session.follow(id);
              }}
            >
              Follow <bdi>{deviceName(id, names.get(id))}</bdi>
            </button>
          ))}
        </p>
      )}
    </div>
  );
}
