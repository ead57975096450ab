import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder of session files, with what is known of how pi reads them. */
export interface SessionFolder {
  /** What tests call it. */
  readonly name: string;
  readonly path: string;
  readonly fileNames: readonly string[];
  readonly expectedByFile: Readonly<Record<string, ExpectedFile>>;
}

/** A file's entry in `expected.json`, as far as it is used here. */
export interface ExpectedFile {
  /** The code Coppice refuses the file with. */
  readonly refused?: string;
  /** Number of entries by type. */
  readonly types?: Readonly<Record<string, number>>;
  /** What each of pi's readers was seen to find. */
  readonly readers?: Readonly<Record<string, ExpectedReading>>;
}

/** What a reader was seen to find. */
interface ExpectedReading {
  readonly opened: boolean;
  readonly entries: number;
  readonly leaf: string;
  readonly branch: number;
  readonly context: number;
  readonly roles: Readonly<Record<string, number>>;
  readonly model: unknown;
  readonly thinking: string;
  readonly name?: string;
  readonly labels: number;
}

const rootFolder = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The project's own session files, and those of pi: in the folder that COPPICE_CORPUS names, else beside the clone.
 * Says on the console when there are none of pi.
 */
export function findSessionFolders(): SessionFolder[] {
  const folders = [readFolder("test/fixtures", join(rootFolder, "test/fixtures"))];
  const corpus = process.env.COPPICE_CORPUS ?? resolve(rootFolder, "../shared/corpus/pi");
  if (existsSync(corpus)) folders.push(readFolder("pi's session files", corpus));
  else console.warn(`No session files of pi at ${corpus}: only test/fixtures is read (COPPICE_CORPUS names a folder).`);
  return folders;
}

function readFolder(name: string, path: string): SessionFolder {
  const fileNames = readdirSync(path).filter((file) => file.endsWith(".jsonl"));
  const expectedPath = join(path, "expected.json");
  const expectedByFile = existsSync(expectedPath) ? JSON.parse(readFileSync(expectedPath, "utf8")) : {};
  return { name, path, fileNames, expectedByFile };
}
