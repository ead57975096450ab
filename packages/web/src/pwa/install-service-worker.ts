import { announce } from "../status/announcements.ts";

/** How often a page that comes to the front asks for a new version. */
const updateIntervalMs = 60 * 60_000;

/**
 * Has the browser keep the app, so that it opens without a network, and says when a new version is ready (SPEC WB17).
 * Where browsers refuse (no secure context, a private window) the app works as ever, as long as there is a network.
 */
export async function installServiceWorker(): Promise<void> {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (workers === undefined) return;
  let hasBeenAsked = false;
  let hadController = workers.controller !== null;
  workers.addEventListener("controllerchange", () => {
    if (hasBeenAsked) location.reload();
    else if (hadController) announceReload("Another tab has started a new version.", () => location.reload());
    hadController = true;
  });
  const registration = await workers.register("/sw.js", { updateViaCache: "none" });
  const offer = (waiting: ServiceWorker): void =>
    announceReload("A new version is ready.", () => {
      hasBeenAsked = true;
      waiting.postMessage("take over");
    });
  if (registration.waiting !== null && hadController) offer(registration.waiting);
  registration.addEventListener("updatefound", () => {
    const { installing } = registration;
    installing?.addEventListener("statechange", () => {
      if (installing.state === "installed" && hadController) offer(installing);
    });
  });
  askForUpdates(registration);
}

function askForUpdates(registration: ServiceWorkerRegistration): void {
  let askedAt = Date.now();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible" || Date.now() - askedAt < updateIntervalMs) return;
    askedAt = Date.now();
    // Without a network there is no answer; the next time there may be.
    registration.update().catch(() => undefined);
  });
}

function announceReload(text: string, run: () => void): void {
  announce(text, { act: { name: "Reload", run }, isLasting: true });
}
