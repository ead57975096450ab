/** Loads a session file as pi does: to its leaf, and with a second argument to the context of its branch too. */
import { JsonlSessionRepo } from "@earendil-works/pi-agent-core";
import { NodeExecutionEnv } from "@earendil-works/pi-agent-core/node";
import { tellOpened } from "../programs/tell-opened.mjs";

const [, , path, wantsContext] = process.argv;
const repo = new JsonlSessionRepo({ fs: new NodeExecutionEnv({ cwd: "/" }), sessionsRoot: "/" });
const session = await repo.open({ path });
const leafId = await session.getLeafId();
const messageCount = wantsContext === undefined ? undefined : (await session.buildContext()).messages.length;
tellOpened({ leafId, messageCount });
