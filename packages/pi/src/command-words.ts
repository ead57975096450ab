/** What can be typed after `/coppice`. */
interface CommandWord {
  /** As typed, words apart by one blank. */
  readonly words: string;
  /** What follows it, for the help. */
  readonly argument?: string;
  readonly summary: string;
}

/** In the order of the help. */
const commandWords: readonly CommandWord[] = [
  { words: "", summary: "what is shared, where, and why" },
  { words: "on", summary: "share this session with your devices" },
  { words: "on project", summary: "share every session of this folder" },
  { words: "off", summary: "stop sharing this session; what is shared stays" },
  { words: "off project", summary: "stop sharing the sessions of this folder" },
  { words: "pause", summary: "nothing leaves pi until you resume" },
  { words: "resume", summary: "go on; everything since the pause follows" },
  { words: "open", argument: "[SESSION]", summary: "go on with a session of any device" },
  { words: "import", summary: "take in the sessions pi has on this device, or stop that" },
  { words: "devices", summary: "your devices, and which of them have this session open" },
  { words: "pair", argument: "[LINK]", summary: "make a workspace, or connect another device" },
  { words: "help", summary: "this list" },
];

/** What was typed after `/coppice`. */
export interface TypedCommand {
  readonly words: string;
  /** What follows the words; empty: nothing. */
  readonly argument: string;
}

/** The command that was typed; undefined when there is none of that name. */
export function parseCommand(text: string): TypedCommand | undefined {
  const typed = text.trim().replace(/\s+/g, " ");
  // The longest first, so that "on project" is not "on" with an argument.
  const longestFirst = [...commandWords].sort((left, right) => right.words.length - left.words.length);
  for (const { words, argument } of longestFirst) {
    if (typed === words) return { words, argument: "" };
    if (argument !== undefined && typed.startsWith(`${words} `)) {
      return { words, argument: typed.slice(words.length + 1) };
    }
  }
  return undefined;
}

/**
 * What can follow what was typed so far, as pi's editor completes it; null: nothing, or it is a command as it stands: while
 * pi shows a choice, Enter takes from it instead of running what was typed.
 */
export function completeCommand(prefix: string): { value: string; label: string; description: string }[] | null {
  const typed = prefix.trimStart().replace(/\s+/g, " ");
  const fitting = commandWords.filter(({ words }) => words !== "" && words.startsWith(typed));
  if (fitting.length === 0 || fitting.some(({ words }) => words === typed)) return null;
  return fitting.map(({ words, summary }) => ({ value: words, label: words, description: summary }));
}

/** All of them, one a line. */
export function describeCommands(): string {
  const shown = commandWords.map(({ words, argument, summary }) => ({
    usage: ["/coppice", words, argument].filter((part) => part).join(" "),
    summary,
  }));
  const width = Math.max(...shown.map(({ usage }) => usage.length));
  return shown.map(({ usage, summary }) => `${usage.padEnd(width)}  ${summary}`).join("\n");
}
