/**
 * Opens a session from the local store as the command does, to its leaf and the context of its branch, and tells its
 * parent what that took. Ends without closing, so that nothing is written for the next one.
 */
import { openWorkspace } from "@coppice/client";
import { openLmdbStore } from "@coppice/persist-lmdb";
import { nodeRecordCrypto } from "@coppice/storage-yjs/node";
import { sessionId, workspaceOptions } from "../stored-session.mjs";
import { tellOpened } from "./tell-opened.mjs";

const store = await openLmdbStore({ path: process.argv[2] });
const workspace = await openWorkspace({ ...workspaceOptions, store, crypto: nodeRecordCrypto });
const { session } = await workspace.openSession(sessionId);
const { messages } = await session.buildContext();
tellOpened({ leafId: await session.getLeafId(), messageCount: messages.length });
