import type { UpdateStore } from "@coppice/core";
import { toHexString } from "lib0/buffer";
import { type DeviceValueFormat, decodeDeviceValue, encodeDeviceValue } from "./device-value.ts";

const format: DeviceValueFormat = { version: 1, what: "The key of this device" };
const deviceKeyKey = (deviceId: string): string => `device-key/${deviceId}`;
const secretKeyBytes = 32;

/**
 * The X25519 public key of a device, in hex: for the day when keys are sealed for single devices. Its secret half is
 * made when first asked for and stays in the device's store. Settles when it is durable; rejects with
 * `version_mismatch`, or as the store does. SPEC WS40.
 */
export async function readDevicePublicKey(
  store: Pick<UpdateStore, "readValue" | "writeValue">,
  deviceId: string,
): Promise<string> {
  const read = async (): Promise<string | undefined> => {
    const fields = decodeDeviceValue(format, await store.readValue(deviceKeyKey(deviceId)));
    return typeof fields?.publicKey === "string" ? fields.publicKey : undefined;
  };
  const known = await read();
  if (known !== undefined) return known;
  const { x25519 } = await loadCurve();
  const secretKey = globalThis.crypto.getRandomValues(new Uint8Array(secretKeyBytes));
  const fields = { secretKey: toHexString(secretKey), publicKey: toHexString(x25519.getPublicKey(secretKey)) };
  await store.writeValue(deviceKeyKey(deviceId), encodeDeviceValue(format, fields));
  // Another process of the home may have made one at the same moment: the one that is there now is the key.
  return (await read()) ?? fields.publicKey;
}

/** Needed once in the life of a device: not a part of what every start loads. */
function loadCurve(): Promise<typeof import("@noble/curves/ed25519.js")> {
  return import("@noble/curves/ed25519.js");
}
