export type { AwarenessState } from "./awareness.ts";
export { absentState } from "./awareness.ts";
export type { Admission, Chunk } from "./causal-order.ts";
export { admitStructs, chunkStructs, orderStructs } from "./causal-order.ts";
export type { CloseReason } from "./close-codes.ts";
export { closeCodes, isFinalCloseCode, offenceToCloseReason } from "./close-codes.ts";
export type { AckPair, CoppiceFrame } from "./coppice-frames.ts";
export type { Frame, FrameError } from "./frames.ts";
export { encodeFrame, parseFrame, protocolVersion } from "./frames.ts";
export type { Sha256 } from "./hashes.ts";
export { deriveRoomId, digestStateVector, extendCheck } from "./hashes.ts";
export type { UpdateLimits } from "./limits.ts";
export {
  maxAwarenessClock,
  maxAwarenessFrameBytes,
  maxChunkBytes,
  maxClientsPerUpdate,
  maxDraftBytes,
  maxFrameBytes,
  maxRecordBytes,
  maxRoomsPerRequest,
  maxStructsPerUpdate,
  protocolLimits,
} from "./limits.ts";
export type { RoomHead } from "./room-heads.ts";
export type { StateVector } from "./state-vector.ts";
export { encodeStateVector } from "./state-vector.ts";
export { coppiceSubprotocol, findToken, selectSubprotocol, tokenToSubprotocols } from "./subprotocols.ts";
export type { ParsedUpdate, Struct, StructId, UpdateOffence } from "./update-grammar.ts";
export { encodeStruct, encodeUpdate, parseUpdate, rootTypeName } from "./update-grammar.ts";
