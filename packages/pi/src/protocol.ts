/**
 * What pi's thread and the engine say to each other. The engine is a worker thread that holds everything heavy: store,
 * documents, encryption, socket. pi's thread asks by name and is answered; the engine tells what happens by itself.
 *
 * A request more is a line in `EngineRequests` and a handler of the same name in the engine (`EngineHandlers`). What
 * crosses is plain data.
 */

/** Requests of pi's thread: what each is given, and what it is answered. */
export interface EngineRequests {
  /** What there is to know of a session's file before it is shared for the first time. */
  inspect: { given: { readonly sessionId: string; readonly file: string }; answer: InspectAnswer };
  /** Begins to mirror a session whose file pi has written. */
  mirror: { given: MirrorBegin; answer: MirrorAnswer };
  /** pi has appended or moved. Settles when what the file has of it is on this device's disk. */
  look: { given: MirrorLook; answer: LookAnswer };
  /** Takes exact texts of entries that pi's memory has and the file has not. */
  give: { given: { readonly sessionId: string; readonly lines: readonly GivenLine[] }; answer: undefined };
  /** Takes lines that another process wrote into the file, unless somebody has stored them. Answers with their number. */
  takeForeign: { given: { readonly sessionId: string; readonly ids: readonly string[] }; answer: number };
  /** Says whether an agent runs here. */
  setRunning: { given: { readonly sessionId: string; readonly isRunning: boolean }; answer: undefined };
  /** Everything to disk, then to the relay as far as that goes within the time. */
  flush: { given: { readonly sessionId: string; readonly relayWaitMs: number }; answer: FlushAnswer };
  /** Ends mirroring of a session: its cursor goes, its socket closes. */
  leave: { given: { readonly sessionId: string }; answer: undefined };
  /** This device, its relay, and all devices of the workspace. */
  devices: { given: { readonly sessionId?: string }; answer: DevicesAnswer };
  /** The sessions of the workspace, the one with the newest activity first. */
  sessions: { given: Record<never, never>; answer: readonly ListedSession[] };
  /** The id of the session that a text names: an id, a name, or a start or end of an id that no other has. */
  find: { given: { readonly reference: string }; answer: string };
  /** Brings a session of the workspace into a file of pi. */
  open: { given: OpenRequest; answer: OpenAnswer };
  /** Makes or joins a workspace, by a relay's address or a pairing link; empty: gives the link for another device. */
  pair: { given: { readonly text: string }; answer: PairAnswer };
  /** How many sessions pi has on this device beside the one it runs. Opens no workspace. */
  countSessions: { given: SurveyRequest; answer: number };
  /** Looks at the sessions that pi has on this device, and takes nothing in. */
  survey: { given: SurveyRequest; answer: SurveyAnswer };
  /** Takes session files into the workspace, by path. */
  takeIn: { given: { readonly files: readonly string[] }; answer: TakeInAnswer };
  /** Ends `survey` (which rejects `closed`) and `takeIn` (which answers with what is in). */
  stopTakingIn: { given: Record<never, never>; answer: undefined };
  /** Closes store and sockets; the worker ends by itself afterwards. */
  close: { given: Record<never, never>; answer: undefined };
}

/** What a session's file holds that its owner may want to know before others get it. */
export interface InspectAnswer {
  /** True: the workspace has the session already. Then nothing was looked for. */
  readonly isKnown: boolean;
  /** Likely secrets in it, by kind. */
  readonly secrets: readonly SecretCount[];
}

/** Likely secrets of one kind. */
export interface SecretCount {
  /** As a person calls it: `AWS access key`. */
  readonly kind: string;
  readonly count: number;
}

/** This device and those it shares its sessions with. */
export interface DevicesAnswer {
  /** Address of the relay; absent: the workspace has none. */
  readonly relay?: string;
  /** In the order in which they first wrote to the workspace. */
  readonly devices: readonly ListedDevice[];
}

/** A device of the workspace. */
export interface ListedDevice {
  readonly name: string;
  readonly isThis: boolean;
  /** True: it has the session that was asked for open now. */
  readonly isPresent: boolean;
  /** True: an agent runs on it there. */
  readonly isRunning: boolean;
}

/** A session of the workspace. */
export interface ListedSession {
  readonly id: string;
  readonly name?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** When something last came into it, in ms since 1970; absent: nobody has said. */
  readonly lastActivityAt?: number;
  readonly gitRemote?: string;
}

/** What came of pairing. */
export type PairAnswer =
  /** The device belongs to a workspace now: a new one, or another device's. */
  | { readonly kind: "made" | "joined"; readonly deviceName: string }
  /** For another device; it holds the key. `qr`: the same to be photographed, lines of half blocks. */
  | { readonly kind: "link"; readonly link: string; readonly qr: string }
  /** There is nothing another device could be given. */
  | { readonly kind: "no-workspace" | "no-relay" };

/** A session that is to be opened in pi. */
export interface OpenRequest {
  readonly sessionId: string;
  /** The folder pi is to work in. */
  readonly cwd: string;
  /** Where pi keeps the sessions of that folder. */
  readonly sessionsFolder: string;
  /** The file pi has of it already; absent: it is looked for. */
  readonly file?: string;
}

/** A session that pi can open. */
export interface OpenAnswer {
  /** Absolute path. */
  readonly file: string;
  /** Work of others that this device was moved past. */
  readonly movedOn?: { readonly entries: number; readonly deviceNames: readonly string[] };
  /** One sentence each: the folder holds other code than the session was about. */
  readonly warnings: readonly string[];
}

/** Where to look for sessions of pi. */
export interface SurveyRequest {
  /** Where pi keeps the sessions of the folder it works in. */
  readonly sessionsFolder: string;
  /** The folder pi works in. */
  readonly cwd: string;
  /** The session that pi runs: it has its own switch. */
  readonly exceptId: string;
}

/** The sessions that pi has on this device. */
export interface SurveyAnswer {
  /** Those that the workspace lacks. */
  readonly found: readonly FoundSession[];
  /** How many it has already. */
  readonly known: number;
  /** Size of all of these files together. */
  readonly bytes: number;
  /** Deleted in the workspace, or switched off on this device. */
  readonly passedOver: number;
  /** Files that cannot be read. */
  readonly failed: readonly UntakenFile[];
}

/** A session file that the workspace lacks. */
export interface FoundSession {
  /** Absolute path. */
  readonly file: string;
  readonly bytes: number;
  /** Likely secrets in it, by kind. */
  readonly secrets: readonly SecretCount[];
}

/** A file that was not taken in, and why. */
export interface UntakenFile {
  readonly file: string;
  readonly reason: string;
}

/** What was taken in. */
export interface TakeInAnswer {
  /** Files that are in. */
  readonly taken: number;
  /** Lines of them that cannot be entries. */
  readonly refused: number;
  readonly failed: readonly UntakenFile[];
  /** False: it was stopped before the last file. */
  readonly isComplete: boolean;
}

/** How far looking at sessions, or taking them in, has come: files that are through, of how many. */
export interface TakingInStep {
  readonly kind: "looking" | "taking";
  readonly done: number;
  readonly total: number;
}

/** A session that is to be mirrored. */
export interface MirrorBegin {
  readonly sessionId: string;
  /** Absolute path of pi's file of it. */
  readonly file: string;
  /** The folder pi works in. */
  readonly cwd: string;
  /** Ids of the entries in pi's memory. */
  readonly ids: readonly string[];
  /** pi's leaf; null: before the first entry. */
  readonly leafId: string | null;
}

/** How a mirrored session began. */
export interface MirrorAnswer {
  /** Entries that were not in the workspace. */
  readonly written: number;
  /** Where this device stands by the workspace, when that is another entry of pi's tree than pi's leaf. */
  readonly ownLeafId?: string | null;
  /** What other devices have added where this device stands, in one line. */
  readonly ahead?: { readonly entries: number; readonly deviceNames: readonly string[] };
}

/** An entry as pi's memory has it. */
export interface GivenLine {
  readonly id: string;
  /** The text that pi writes for it. */
  readonly json: string;
}

/** What pi has done since the last look. */
export interface MirrorLook {
  readonly sessionId: string;
  /** Ids of entries that are new in pi's memory, in order. */
  readonly newIds: readonly string[];
  readonly leafId: string | null;
}

/** What came of a look. */
export interface LookAnswer {
  /** Entries of pi's memory that neither the workspace nor the file has. */
  readonly missingIds: readonly string[];
}

/** What came of flushing. */
export interface FlushAnswer {
  /** Records that the relay has not acknowledged. */
  readonly waiting: number;
}

/** Where a session stands, as the status line shows it. */
export interface MirrorStatus {
  readonly sessionId: string;
  /** `none`: this workspace has no relay. */
  readonly relay: "none" | "offline" | "connecting" | "catching-up" | "live" | "refused";
  /** Why it is refused, or why nothing can be saved here. */
  readonly reason?: string;
  /** Records that the relay has not acknowledged. */
  readonly waiting: number;
  /** Devices that have the session open now, this one included. */
  readonly devices: number;
  /** Other replicas on which an agent runs, on one line with this device's leaf. */
  readonly runners: readonly MirrorRunner[];
}

/** Another replica on which an agent runs. */
export interface MirrorRunner {
  readonly replicaId: string;
  /** Its device, by name where the workspace knows it. */
  readonly deviceName: string;
  /** True for another process of this very device. */
  readonly sameDevice: boolean;
}

/** What the engine tells by itself. */
export type EngineEvent =
  | { readonly type: "status"; readonly status: MirrorStatus }
  /** An import goes on: entries that are through. */
  | { readonly type: "progress"; readonly sessionId: string; readonly entries: number }
  /** Sessions of this device are looked at, or taken in. */
  | { readonly type: "takingIn"; readonly step: TakingInStep }
  /** Lines that have stood in the file for a while and are not in the workspace nor, as far as is known, in pi's memory. */
  | { readonly type: "unknownLines"; readonly sessionId: string; readonly ids: readonly string[] }
  /** Something in the background has failed, and is tried again. */
  | { readonly type: "problem"; readonly sessionId: string; readonly reason: string };

/** What the engine does, by the names of the requests. */
export type EngineHandlers = {
  readonly [Name in keyof EngineRequests]: (
    given: EngineRequests[Name]["given"],
  ) => Promise<EngineRequests[Name]["answer"]>;
};

/** A request as it crosses. */
export interface RequestMessage {
  readonly id: number;
  readonly name: keyof EngineRequests;
  readonly given: unknown;
}

/** What crosses back: an answer, a failure in one sentence, or an event. */
export type EngineMessage =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: { readonly message: string; readonly code?: string } }
  | { readonly event: EngineEvent };

/** What the worker is started with. */
export interface EngineStart {
  /** Absolute path of the home folder. */
  readonly homeFolder: string;
}
