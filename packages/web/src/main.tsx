import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { AppHome } from "./home/app-home.ts";
import { openHomeStore } from "./home/home-store.ts";
import { installServiceWorker } from "./pwa/install-service-worker.ts";
import { watchPolicyBlocks } from "./status/policy-blocks.ts";
import "./design/tokens.css";
import "./design/base.css";
import "./design/controls.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
watchPolicyBlocks();
const home = new AppHome(openHomeStore);
void home.start();
// Somebody has pasted a link into the address bar of this tab.
addEventListener("hashchange", () => void home.start());
createRoot(root).render(
  <StrictMode>
    <App home={home} />
  </StrictMode>,
);
if (import.meta.env.PROD)
  // Said to whoever looks: the app works without, as long as there is a network.
  installServiceWorker().catch((error: unknown) => console.warn("This browser does not keep the app:", error));
