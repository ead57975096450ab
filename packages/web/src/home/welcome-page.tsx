import { type ReactNode, useState } from "react";
import type { AppHome } from "./app-home.ts";
import { LinkForm } from "./link-form.tsx";

/** What somebody sees whose browser is in no workspace: how to get into one. */
export function WelcomePage({
  home,
  problem,
}: {
  readonly home: AppHome;
  readonly problem?: string | undefined;
}): ReactNode {
  const [isHere] = useState(() => location.hostname === "localhost" || location.hostname === "127.0.0.1");
  return (
    <main className="sheet">
      <h1>Coppice</h1>
      {problem === undefined ? null : (
        <p role="alert" className="fault">
          {problem}
        </p>
      )}
      <p>
        The sessions of your agents, on every device. This browser is not in a workspace yet; a link from a device that
        is brings it in.
      </p>
      <section className="card" aria-labelledby="get-link">
        <h2 id="get-link">1. Get a link</h2>
        <p>On a computer that has the workspace{isHere ? ", perhaps this one" : ""}, type</p>
        <code className="command">npx coppice link --web</code>
        <p className="muted small">
          No workspace yet? <code>npx coppice init</code> makes one.
        </p>
      </section>
      <section className="card" aria-labelledby="open-link">
        <h2 id="open-link">2. Open it here</h2>
        <LinkForm home={home} />
      </section>
      <p className="muted small">
        The link holds the key of the workspace. It stays in this browser: it is never sent to a server.
      </p>
    </main>
  );
}
