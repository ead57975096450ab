import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { createAppHandler } from "@coppice/web/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chooseEncoding } from "../src/server/accept-encoding.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const server = createServer(createAppHandler({ relays: ["wss://relay.example/team", "ws://127.0.0.1:4600"] }));
const port = (): number => (server.address() as AddressInfo).port;

/** As it stands, path and all: `fetch` would tidy it up first. */
async function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  const sent = httpRequest({ host: "127.0.0.1", port: port(), path, method, headers }).end();
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.close();
});

async function findAsset(extension: string): Promise<string> {
  const html = (await ask("/")).body.toString();
  const path = new RegExp(`/assets/[\\w.-]+\\.${extension}`).exec(html)?.[0];
  if (path === undefined) throw new Error(`index.html names no .${extension}`);
  return path;
}

describe("the app's handler", () => {
  it.each([
    "/",
    "/session/0194c0de-0000-7000-8000-aaaaaaaaaaaa",
    "/session/a%20b/?entry=x",
    "/devices",
    "/?from=install",
  ])("[AP1] answers %s with the app's page, which is asked for each time", async (path) => {
    const answer = await ask(path);
    expect(answer).toMatchObject({ status: 200, headers: { "cache-control": "no-cache", vary: "Accept-Encoding" } });
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.body.toString()).toContain('<div id="root">');
  });

  it.each([
    "/../package.json",
    "/..%2f..%2fpackage.json",
    "/assets/../../server/create-app-handler.js",
    "/assets/..\\..\\index.js",
    "//etc/passwd",
    "/assets/",
    "/index.html.br",
    "/build-manifest.json",
    "/session/a/b",
    "/%00",
    "/nothing",
    "/constructor",
    "/__proto__",
  ])("[AP2] has nothing at %s", async (path) => {
    const { status, body, headers } = await ask(path);
    expect([status, body.toString()]).toEqual([404, "There is nothing here; the app is at / .\n"]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
  });

  it("[AP2] is read only", async () => {
    expect(await ask("/", {}, "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    const head = await ask("/", {}, "HEAD");
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(Number(head.headers["content-length"])).toBeGreaterThan(100);
  });

  it("[AP3] sends what was compressed before, and says so; whoever has it is told that nothing changed", async () => {
    const path = await findAsset("js");
    const plain = await ask(path);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    const brotli = await ask(path, { "accept-encoding": "gzip, deflate, br, zstd" });
    expect(brotli.headers["content-encoding"]).toBe("br");
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).toBe(true);
    const gzip = await ask(path, { "accept-encoding": "gzip, br;q=0" });
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    const etags = [plain, brotli, gzip].map(({ headers }) => String(headers.etag));
    expect(new Set(etags).size).toBe(3);
    const again = await ask(path, { "accept-encoding": "br", "if-none-match": `"other", W/${etags[1]}` });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etags[1]]);
    expect((await ask(path, { "if-none-match": String(etags[1]) })).status).toBe(200);
  });

  it.each([
    [undefined, "identity"],
    ["", "identity"],
    ["br", "br"],
    ["GZIP;q=0.5", "gzip"],
    ["*", "br"],
    ["*;q=0", "identity"],
    ["br;q=0, *", "gzip"],
    ["br;q=nonsense", "identity"],
  ])("[AP3] of %j it chooses %s", (header, chosen) => {
    expect(chooseEncoding(header, ["br", "gzip", "identity"])).toBe(chosen);
  });

  it("[AP4] allows the app's own files, this host and the relays, and nothing else", async () => {
    for (const path of ["/", await findAsset("js"), "/nothing"]) {
      const { headers } = await ask(path, { host: "app.example:8443" });
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": expect.stringContaining("camera=()"),
      });
      expect(String(headers["content-security-policy"]).split("; ")).toEqual([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self' ws://app.example:8443 wss://app.example:8443 wss://relay.example ws://127.0.0.1:4600",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]);
    }
  });

  it.each(["x; script-src *", "a b", "evil.example/'", "host:99999999"])(
    "[AP4] puts no words of a client's into the policy: Host %j",
    async (host) => {
      const policy = String((await ask("/", { host })).headers["content-security-policy"] ?? "");
      // Node itself refuses some of them.
      if (policy !== "") expect(policy).toContain("connect-src 'self' wss://relay.example ws://127.0.0.1:4600;");
    },
  );

  it("[AP4] takes addresses of relays only", () => {
    expect(() => createAppHandler({ relays: ["https://relay.example"] })).toThrow(TypeError);
  });
});

describe("the built app", () => {
  it("[WB18] a browser's first load needs at most 250 kB of compressed script", async () => {
    const page = (await ask("/")).body.toString();
    const scripts = [...page.matchAll(/<(?:script|link)[^>]*(?:src|href)="([^"]+\.js)"/g)].map(
      ([, path]) => path ?? "",
    );
    const answers = await Promise.all(scripts.map((path) => ask(path, { "accept-encoding": "br" })));
    const sizes = answers.map(({ body, headers }) => [headers["content-encoding"], body.length] as const);
    expect(sizes.map(([encoding]) => encoding)).toEqual(scripts.map(() => "br"));
    const total = sizes.reduce((sum, [, size]) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(250_000);
  });

  it("[WB16] can be installed: its manifest names icons that are there", async () => {
    const page = (await ask("/")).body.toString();
    const path = /rel="manifest" href="([^"]+)"/.exec(page)?.[1] ?? "";
    const { icons, start_url, display } = JSON.parse((await ask(path)).body.toString());
    expect([start_url, display]).toEqual(["/", "standalone"]);
    for (const { src, type } of icons) {
      const { status, headers } = await ask(src);
      expect([src, status, String(headers["content-type"]).split(";")[0]]).toEqual([src, 200, type]);
    }
    expect(icons.length).toBeGreaterThan(2);
  });
});
