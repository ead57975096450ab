const maxAnswerBytes = 4096;

/** The first line of an input, without blanks around it: what somebody typed. Empty when nothing came. */
export async function readAnswer(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for await (const chunk of input) {
    chunks.push(chunk);
    byteCount += chunk.length;
    if (chunk.includes(0x0a) || byteCount > maxAnswerBytes) break;
  }
  return (Buffer.concat(chunks).toString("utf8").split("\n")[0] ?? "").trim();
}
