import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig(({ command }) => ({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // The development server takes our packages from their sources, the build as they are published.
  resolve: {
    dedupe: ["yjs", "react", "react-dom"],
    ...(command === "serve" ? { conditions: ["coppice-source", "module", "browser", "development|production"] } : {}),
  },
  build: {
    outDir: "dist/app",
    emptyOutDir: true,
    target: "es2022",
    // Every file has an address of its own: the content security policy knows no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What counts is the compressed size of the first load, which a test holds (SPEC WB18).
    chunkSizeWarningLimit: 2000,
  },
}));
