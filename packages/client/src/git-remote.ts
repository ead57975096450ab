/** What is grouped: anything with the address of a git remote, or without one. */
export interface HasGitRemote {
  readonly gitRemote?: string | undefined;
}

/** Sessions of one repository. */
export interface RemoteGroup<Session extends HasGitRemote> {
  /** `host/path` of the repository; undefined: sessions without a remote. */
  readonly remote: string | undefined;
  /** In the order in which they were given. */
  readonly sessions: readonly Session[];
}

/** Ports that say nothing: each is its scheme's own. */
const defaultPorts: { readonly [protocol: string]: string } = {
  "ssh:": "22",
  "git:": "9418",
  "http:": "80",
  "https:": "443",
};

/**
 * Groups sessions by the repository they belong to, whichever way its remote is written; groups in the order of their
 * first session, those without a remote in a group of their own.
 */
export function groupSessionsByRemote<Session extends HasGitRemote>(
  sessions: Iterable<Session>,
): RemoteGroup<Session>[] {
  const groups = new Map<string | undefined, Session[]>();
  for (const session of sessions) {
    const remote = session.gitRemote === undefined ? undefined : normalizeGitRemote(session.gitRemote);
    const group = groups.get(remote);
    if (group === undefined) groups.set(remote, [session]);
    else group.push(session);
  }
  return Array.from(groups, ([remote, grouped]) => ({ remote, sessions: grouped }));
}

/**
 * The repository behind a git remote: `host/path` without user, port of the scheme, `.git` and slashes at the end, so
 * that the ssh and https forms of one remote are equal. A path on this machine is equal to itself alone.
 */
export function normalizeGitRemote(remote: string): string {
  const text = remote.trim();
  if (URL.canParse(text) && text.includes("://")) {
    const { protocol, hostname, port, pathname } = new URL(text);
    if (protocol === "file:" || hostname === "") return trimEnd(text);
    const shownPort = port === "" || port === defaultPorts[protocol] ? "" : `:${port}`;
    return `${hostname.toLowerCase()}${shownPort}/${trimPath(decodePath(pathname))}`;
  }
  // git's short form of ssh: [user@]host:path. A letter alone before the colon is a drive of Windows.
  const short = /^(?:[^@/\\]+@)?([^:/\\@]{2,}):(?!\/\/)(.*)$/.exec(text);
  if (short?.[1] === undefined || short[2] === undefined) return trimEnd(text);
  return `${short[1].toLowerCase()}/${trimPath(short[2])}`;
}

/** A remote without user name and password, which have no business in a list. ssh's user alone stays: it is no secret. */
export function removeCredentials(remote: string): string {
  if (!URL.canParse(remote) || !remote.includes("://")) return remote;
  const url = new URL(remote);
  url.password = "";
  if (url.protocol !== "ssh:") url.username = "";
  return url.href;
}

/** Without what git adds or leaves out as it likes. */
function trimEnd(path: string): string {
  return path.replace(/(?<=.)\/+$/, "").replace(/(?<=[^/])\.git$/, "");
}

function trimPath(path: string): string {
  return trimEnd(path).replace(/^\/+/, "");
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // No UTF-8 behind a percent sign: then it stands for itself.
    return path;
  }
}
