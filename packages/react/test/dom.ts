// To be imported before React: it looks for a document when it is loaded. The rest of Node stays as it is; a whole
// browser in its place would take the sockets and timers that the tests are about.
import { Window } from "happy-dom";
import { afterAll } from "vitest";

const window = new Window();
const globals = { window, document: window.document, navigator: window.navigator };
for (const [name, value] of Object.entries(globals))
  Object.defineProperty(globalThis, name, { value, configurable: true });

afterAll(() => window.happyDOM.close());
