/** A message that goes to many clients, made ready once. */
export interface Broadcast {
  readonly message: Uint8Array;
  /** The message behind its websocket header. A server does not mask, so these are the same bytes for every client. */
  readonly websocketFrame: Buffer;
}

/** First byte of a whole binary message (RFC 6455 section 5.2): FIN and opcode 2. */
const wholeBinary = 0x82;

/** Makes a message ready for many clients; the bytes are copied. */
export function prepareBroadcast(message: Uint8Array): Broadcast {
  const { length } = message;
  const headerBytes = length < 126 ? 2 : length < 0x10000 ? 4 : 10;
  // Memory of its own: a part of Node's shared pool would keep what lies beside it alive.
  const websocketFrame = Buffer.allocUnsafeSlow(headerBytes + length);
  websocketFrame[0] = wholeBinary;
  if (headerBytes === 2) websocketFrame[1] = length;
  else if (headerBytes === 4) {
    websocketFrame[1] = 126;
    websocketFrame.writeUInt16BE(length, 2);
  } else {
    websocketFrame[1] = 127;
    websocketFrame.writeBigUInt64BE(BigInt(length), 2);
  }
  websocketFrame.set(message, headerBytes);
  return { message: new Uint8Array(websocketFrame.buffer, headerBytes), websocketFrame };
}
