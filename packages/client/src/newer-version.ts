import { SessionError } from "@coppice/core";

/** The one sentence for what a later version of Coppice wrote; `what` begins it: "The place of this device". */
export function createNewerVersionError(what: string): SessionError {
  return new SessionError("version_mismatch", `${what} was written by a newer version of Coppice; upgrade to use it.`);
}
