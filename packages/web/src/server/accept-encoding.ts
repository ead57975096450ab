/**
 * The first of the available encodings that a client takes by its `Accept-Encoding` (RFC 9110, 12.5.3), in the server's
 * order; "identity" when it takes none of them.
 */
export function chooseEncoding<Encoding extends string>(
  header: string | undefined,
  available: Iterable<Encoding>,
): Encoding | "identity" {
  const qualities = new Map<string, number>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim());
    const quality = parameters.find((text) => text.startsWith("q="));
    if (name !== "") qualities.set(name, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  for (const encoding of available) {
    const quality = qualities.get(encoding) ?? qualities.get("*") ?? 0;
    if (encoding !== "identity" && quality > 0) return encoding;
  }
  return "identity";
}
