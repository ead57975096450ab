/** What an unknown thrown value says, for a status or a reason. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
