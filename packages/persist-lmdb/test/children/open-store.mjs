// Opens a store and prints how that ended.
import { openLmdbStore } from "../../dist/index.js";

try {
  const store = await openLmdbStore({ path: process.argv[2] });
  await store.close();
  process.stdout.write("opened\n");
} catch (error) {
  process.stdout.write(`${error.name} ${error.code}: ${error.message}\n`);
}
