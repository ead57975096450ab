export { nodeRecordCrypto } from "./node-record-crypto.ts";
