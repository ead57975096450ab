import { encodeText } from "./text-codec.ts";

/*
 * What the deflater knows before it has seen a byte of an entry: entries are short, and most of a short one is the shape
 * that all of its type share. This is part of the record format. A dictionary is never changed, not by a character: a
 * better one gets the next id, and this one stays for what was written with it.
 *
 * Deflate says how far back a match lies, in fewer bits the nearer it is, so what occurs most stands last.
 */

/** Id of the dictionary that records are written with. */
export const CURRENT_DICTIONARY_ID = 1;

/** English as it is written about code, and code itself as it stands in JSON texts. */
const prose = [
  " implementation implemented implement configuration directory repository dependencies dependency development package",
  " version changes changed change update updated added removed remove create created delete parameter argument option",
  " default value values number string boolean object array index length result response request message error warning",
  " success failed failure missing unexpected expected actual assert describe test tests testing passed passing running",
  " the same as is not and the with for that this from have will can into when only also now let me check I'll I need to",
  " you want to Let me look at the Now I understand. Now let me Looking at the Here's what we should make sure it works. ",
  "\\n\\n## Summary\\n\\n### Changes\\n\\n1. **\\n2. **\\n3. **\\n- **`\\n- `\\n   - \\n- [ ] \\n- [x] \\n\\n| --- | --- |\\n\\n```typescript\\n",
  "```bash\\n```json\\n```\\n\\n",
];
const code = [
  '#!/usr/bin/env node\\n\\nfrom __future__ import annotations\\ndef __init__(self) -> None:\\n    \\"\\"\\"\\n    if not self.\\n    raise ValueError(',
  '{\\n  \\"name\\": \\"\\",\\n  \\"version\\": \\"0.0.1\\",\\n  \\"type\\": \\"module\\",\\n  \\"scripts\\": {\\n    \\"build\\": \\"tsc\\",\\n    \\"dependencies\\": {\\n',
  "/**\\n * @param \\n * @returns \\n */\\n// TODO: \\n\\t\\t\\t\\t\\n\\t\\t}\\n\\n\\t\\t\\n        }\\n      }\\n    }\\n  }\\n}\\n\\n",
  'import type { } from \\"./\\nimport * as path from \\"node:path\\";\\nimport { readFileSync, existsSync } from \\"node:fs\\";\\nimport { } from \\"../\\n',
  "export default class extends implements private readonly public static constructor( super();\\nexport interface  {\\n\\texport type  = ",
  "export async function (): Promise<void> {\\nexport function export const  = async () => {\\n\\t\\tthrow new Error(`",
  "process.env. console.log(`${ console.error(JSON.stringify( Object.keys( Array.isArray( Math.max( Math.min( .map((x) => .filter((",
  '.forEach(( .length === 0) .length > 0 .toString( .slice(0, .split(\\"\\\\n\\") .join(\\" .trim() .push({ .replace(/ .startsWith(\\" .includes(',
  "\\n\\t\\tif (!this. && || !== undefined === null ? : null;\\n\\t\\t} else {\\n\\t\\t} else if (\\n\\t\\t} catch (error) {\\n\\t\\tfor (const  of \\n\\t\\twhile (true) {",
  '\\n\\t\\tswitch (\\n\\t\\t\\tcase \\"\\n\\t\\t\\t\\tbreak;\\n\\t\\treturn false;\\n\\t\\treturn true;\\n\\t\\treturn undefined;\\n\\t\\tawait \\n\\t\\tconst  = new \\n\\t\\tconst  = this.',
  "\\n\\t\\tlet \\n\\t\\treturn \\n\\tconst \\n\\t});\\n\\n\\t}\\n\\n\\t",
];
/** What is typed into shells, and what tools answer. */
const shell = [
  "/home/user/projects/ /Users/ /opt/ /usr/local/bin/ /tmp/ ~/. ./src/ src/ lib/ docs/ README.md CHANGELOG.md package.json tsconfig.json",
  " .test.ts .ts .tsx .js .mjs .py .rs .go .md .json .yaml .toml .html .css node_modules/ dist/ packages/ examples/ scripts/ test/",
  " On branch main\\nnothing to commit, working tree clean\\n files changed, insertions(+), deletions(-)\\n create mode 100644 ",
  "gh pr view gh issue list curl -s docker ps python3 -c pip install cargo build go test make sed -n '1,100p' awk '{print $1}' xargs ",
  ' | wc -l | sort | uniq -c | tail -20 | head -50 2>/dev/null 2>&1 || true && echo \\" && ls -la && cat rg -n \\" mkdir -p rm -rf cp mv chmod +x ',
  'npm install npm run build npm run check npm test npx tsx npx tsc --noEmit npx vitest run git add -A && git commit -m \\" git push git stash ',
  'git checkout -b git log --oneline git diff --stat git status find . -name \\"*.ts\\" -type f grep -rn \\" --include=\\"*.ts\\" ',
  "cd /home/user/ && ",
  "Command aborted Command timed out Command exited with code 1 No such file or directory File not found: Could not find the exact text in ",
  " more lines in file. Use offset= to continue Successfully wrote  bytes to Successfully replaced text in (no output)",
];
/** Entries, by rising frequency. */
const entries = [
  '{"type":"session","version":3,"cwd":"/","parentSession":"',
  '{"type":"workspace_session","sessionId":"","createdAt":"","keyId":"{"type":"workspace_device","deviceId":"","person":"","name":"',
  '{"type":"active_tools_change","activeToolNames":["read","write","edit","bash","grep","find","ls"]}',
  '{"type":"context_edit","targetId":"","replacement":{"content":"","omit":true}}{"type":"usage","kind":"cache_warm","note":"',
  '"message":{"role":"system","content":"","sections":{"preamble":"","tools":"","rules":"","docs":"","cwd":"/"},"toolsAdded":[{"name":"',
  '","parameters":{"type":"object","required":[""],"properties":{"path":{"type":"string","description":"","items":{"type":"array","type":"number"',
  '"message":{"role":"bashExecution","command":"","output":"","exitCode":0,"cancelled":false,"truncated":false,"excludeFromContext":true,"fullOutputPath":"',
  '{"type":"custom_message","customType":"","content":"","display":true,"details":{}}{"type":"custom","customType":"","data":{"',
  '{"type":"branch_summary","fromId":"root","summary":"","details":{"readFiles":["","modifiedFiles":[""]},"fromHook":false}',
  '{"type":"compaction","summary":"## Goal\\n\\n## Constraints & Preferences\\n\\n## Progress\\n### Done\\n### In Progress\\n### Blocked\\n\\n## Key Decisions\\n\\n## Next Steps\\n\\n## Critical Context\\n',
  '","firstKeptEntryId":"","tokensBefore":1,"fromHook":true}',
  '{"type":"session_info","name":"{"type":"label","targetId":"","label":"{"type":"leaf","targetId":null}',
  '{"type":"thinking_level_change","thinkingLevel":"off","minimal","low","medium","high","xhigh"}',
  '{"type":"model_change","provider":"openrouter","groq","xai","mistral","github-copilot","google-vertex","amazon-bedrock","azure-openai-responses","modelId":"',
  '"api":"mistral-conversations","provider":"mistral","api":"bedrock-converse-stream","api":"google-generative-ai","provider":"google","model":"gemini-2.5-pro","gemini-3-flash',
  '"api":"openai-completions","provider":"zai","model":"glm-4.6","deepseek-chat","kimi-k2","grok-code-fast-1","qwen3-coder","gpt-oss-120b"',
  '"api":"openai-codex-responses","provider":"openai-codex","model":"gpt-5.2","api":"openai-responses","provider":"openai","model":"gpt-5.1-codex","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,',
  '"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"length","stopReason":"error","errorMessage":"Connection error. terminated',
  '"stopReason":"aborted","errorMessage":"Request was aborted.","Operation aborted","isError":true,',
  '{"type":"message","id":"","parentId":null,"timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"","content":[{"type":"text","text":"',
  '{"type":"image","mimeType":"image/jpeg","image/png","data":"iVBORw0KGgoAAAANSUhEUgAA',
  '{"type":"thinking","thinking":"The user wants me to ","thinkingSignature":"{\\"id\\":\\"rs_","encrypted_content\\":\\"gAAAAAB","redacted":true,"textSignature":"msg_0',
  '"thinkingSignature":"ErUBCkYICxgCIkD","durationMs":1,"thinkingLevel":"high","responseId":"msg_01',
  '"id":"call_|fc_0","name":"find","arguments":{"pattern":"","name":"grep","arguments":{"pattern":"","glob":"**/*.ts","ignoreCase":true,"context":3,"name":"ls","arguments":{"path":".","limit":100}',
  '"name":"write","arguments":{"path":"","content":"","name":"edit","arguments":{"path":"src/","edits":[{"oldText":"","newText":"","name":"edit","arguments":{"path":"packages/","oldText":"\\n\\t\\t","newText":"',
  '","limit":200}}],"offset":1,"limit":100}}],"name":"read","arguments":{"path":"","timeout":60}}],"timeout":120}}],',
  '{"type":"toolCall","id":"toolu_01","name":"bash","arguments":{"command":"cd ',
  '"toolName":"write","toolName":"grep","toolName":"edit","content":[{"type":"text","text":"Successfully replaced text in ","details":{"diff":"     ...\\n-1 +1 ","patch":"","firstChangedLine":1},"isError":false,"timestamp":17',
  '"parentId":"","timestamp":"2025-12-","message":{"role":"toolResult","toolCallId":"toolu_01","toolName":"read","content":[{"type":"text","text":"","isError":true,"timestamp":1765',
  '{"type":"message","id":"","parentId":"","timestamp":"2026-0","message":{"role":"toolResult","toolCallId":"toolu_01","toolName":"bash","content":[{"type":"text","text":"\\n"}],"isError":false,"timestamp":1770',
  '{"type":"message","id":"","parentId":"","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Now ","Let me ","}],"arguments":{"command":"',
  '"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-haiku-4-5","model":"claude-opus-4-5","model":"claude-sonnet-4-5","usage":{"input":1,"output":1,"cacheRead":1,"cacheWrite":1,"totalTokens":1,',
  '"cost":{"input":0.000005,"output":0.00,"cacheRead":0.0,"cacheWrite":0.00,"total":0.0}},"stopReason":"stop","timestamp":17}},"stopReason":"toolUse","timestamp":176,"id":"","parentId":"0000"}',
];

/** The bytes of dictionaries by id. Ids from 1 on; 0 in a record says that it needs none. */
export const dictionariesById: ReadonlyMap<number, Uint8Array> = new Map([
  [CURRENT_DICTIONARY_ID, encodeText([prose, code, shell, entries].flat().join(""))],
]);
