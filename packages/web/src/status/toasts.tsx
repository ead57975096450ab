import { type ReactNode, useSyncExternalStore } from "react";
import { dismiss, getAnnouncements, subscribeAnnouncements } from "./announcements.ts";
import "./toasts.css";

/** What has happened elsewhere, at the edge of the window; a screen reader says it when there is a pause. */
export function Toasts(): ReactNode {
  const announcements = useSyncExternalStore(subscribeAnnouncements, getAnnouncements);
  return (
    <section className="toasts" aria-label="News">
      <div role="status" className="toasts-list">
        {announcements.map(({ id, text, act }) => (
          <div key={id} className="toast">
            <p dir="auto">{text}</p>
            {act === undefined ? null : (
              <button
                type="button"
                className="button-quiet"
                onClick={() => {
                  dismiss(id);
                  act.run();
                }}
              >
                {act.name}
              </button>
            )}
            <button type="button" className="button-quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
              ✕
            </button>
          </div>
        ))}
      </div>
    </section>
  );
}
