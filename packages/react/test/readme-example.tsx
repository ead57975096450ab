import type { SharedSession, Workspace } from "@coppice/client";
import { useBranch, useEntry, useSession, useSyncStatus, WorkspaceProvider } from "@coppice/react";

export function App({ workspace, sessionId }: { workspace: Workspace; sessionId: string }) {
  return (
    <WorkspaceProvider workspace={workspace}>
      <Page sessionId={sessionId} />
    </WorkspaceProvider>
  );
}

function Page({ sessionId }: { sessionId: string }) {
  const opened = useSession(sessionId); // open while somebody shows it, and shared by all who do
  if (opened.state === "opening") return <p>Opening…</p>;
  if (opened.state === "open") return <Transcript session={opened.session} />;
  return (
    <p>
      {opened.error.message}{" "}
      <button type="button" onClick={opened.retry}>
        Try again
      </button>
    </p>
  );
}

function Transcript({ session }: { session: SharedSession }) {
  const { leafId, nodes } = useBranch(session); // the branch this device looks at
  const { pending } = useSyncStatus(session);
  if (leafId === undefined) return <p>Fetching the session…</p>;
  return (
    <>
      <ol>
        {nodes.map(({ id }) => (
          <Entry key={id} session={session} id={id} />
        ))}
      </ol>
      <p>{pending === 0 ? "Everything is at the relay" : `${pending} waiting`}</p>
      <button type="button" onClick={() => session.session.appendMessage({ role: "user", content: "Go on" })}>
        Go on
      </button>
    </>
  );
}

function Entry({ session, id }: { session: SharedSession; id: string }) {
  const content = useEntry(session, id); // opened when it is shown
  if (content.state === "loading") return <li>…</li>;
  if (content.state === "unreadable") return <li>{content.reason}</li>;
  const { entry } = content;
  if (entry.type !== "message" || typeof entry.message.content !== "string") return <li>({entry.type})</li>;
  return <li>{entry.message.content}</li>;
}
