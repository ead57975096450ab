import { styleText } from "node:util";
import { stringifyShape } from "./exact-json.ts";

/** Where a command writes: results to stdout, remarks and errors to stderr. */
export interface Output {
  /** Results are one JSON value instead of text. */
  readonly json: boolean;
  /** Width of a line of text, in terminal columns. */
  readonly columns: number;
  /** Writes one line of text to stdout; nothing with `--json`. */
  print(line: string): void;
  /** Writes one line of JSON to stdout, `ExactJson` in it as it is; nothing without `--json`. Throws as `stringifyShape`. */
  printJson(value: object): void;
  /** Writes one line to stdout in either mode: exact texts and what a program reads line by line. */
  printRaw(line: string): void;
  /** Writes one line to stderr. */
  remark(line: string): void;
  /** Shows how far long work is, on one line that replaces itself; only where stderr is a terminal, never with `--json`. Empty: takes it away. */
  showProgress(line: string): void;
  /** Paints a text where colours are wanted and possible. */
  paint(format: "cyan" | "dim", text: string): string;
}

/** The parts of a process that output needs. */
export interface OutputStreams {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

// What a pipe or a file gets, where nobody says how wide it will be shown.
const defaultColumns = 100;

/** Makes the output of one run of the command. Plain text when piped, with `NO_COLOR`, and on a dumb terminal. */
export function createOutput({ stdout, stderr, env }: OutputStreams, json: boolean): Output {
  const paints = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  const columns = stdout.columns ?? (Number(env.COLUMNS) || defaultColumns);
  let hasProgress = false;
  const clearProgress = (): void => {
    if (hasProgress) stderr.write("\r\u001b[K");
    hasProgress = false;
  };
  const printRaw = (line: string): void => {
    clearProgress();
    stdout.write(`${line}\n`);
  };
  return {
    json,
    columns,
    print: (line) => {
      if (!json) printRaw(line);
    },
    printJson: (value) => {
      if (json) printRaw(stringifyShape(value));
    },
    printRaw,
    remark: (line) => {
      clearProgress();
      stderr.write(`${line}\n`);
    },
    showProgress: (line) => {
      clearProgress();
      if (json || stderr.isTTY !== true || line === "") return;
      stderr.write(line);
      hasProgress = true;
    },
    paint: (format, text) => (paints ? styleText(format, text) : text),
  };
}
