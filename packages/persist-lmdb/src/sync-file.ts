import { open } from "node:fs/promises";

/** Makes a copied data file private to its owner (mode 600) and its content durable. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.chmod(0o600);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
