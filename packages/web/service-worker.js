/*
 * Lets the app open without a network. The build fills in which files there are; anything else that is asked for goes to
 * the network as if this were not here. A new version is fetched whole beside the one that runs, and takes its place when
 * somebody says so, or when the last tab is closed.
 */
const files = ["__FILES__"];
const version = "__VERSION__";
const cachePrefix = "coppice-app-";
const cacheName = cachePrefix + version;
const pagePattern = /^\/(?:devices\/?|session\/[^/]+\/?)?$/;

addEventListener("install", (event) => event.waitUntil(fetchAll()));
addEventListener("activate", (event) => event.waitUntil(takeOver()));
addEventListener("message", ({ data }) => void (data === "take over" && skipWaiting()));
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (method !== "GET" || origin !== location.origin) return;
  if (mode === "navigate" && pagePattern.test(pathname)) event.respondWith(answerPage(event));
  else if (pathname !== "/" && files.includes(pathname)) event.respondWith(answerFile(event.request, pathname));
});

/** All or nothing: of half a version nothing would work. */
async function fetchAll() {
  const cache = await caches.open(cacheName);
  await Promise.all(
    files.map(async (path) => {
      const response = await fetch(path, { cache: "no-store" });
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
      await cache.put(path, response);
    }),
  );
}

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(
    names.filter((name) => name.startsWith(cachePrefix) && name !== cacheName).map((name) => caches.delete(name)),
  );
  await clients.claim();
}

async function answerPage(event) {
  const cache = await caches.open(cacheName);
  const page = await cache.match("/");
  if (page === undefined) return fetch(event.request);
  event.waitUntil(refreshPage(cache, page.clone()));
  return page;
}

/** The headers of the page say which relays it may connect to, and those may change while its files do not. */
async function refreshPage(cache, page) {
  let fresh;
  try {
    fresh = await fetch("/", { cache: "no-store" });
  } catch {
    return; // no network: what is here is what there is
  }
  if (fresh.ok && (await fresh.clone().text()) === (await page.text())) await cache.put("/", fresh);
}

async function answerFile(request, path) {
  const cache = await caches.open(cacheName);
  return (await cache.match(path)) ?? fetch(request);
}
