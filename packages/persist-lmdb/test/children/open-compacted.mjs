// Opens the store of a folder anew, compacted where that pays, until it is killed; prints a line before and after.
import { openLmdbStore } from "../../dist/index.js";

process.stdout.write("opening\n");
await openLmdbStore({ path: process.argv[2], compactOnOpen: true });
process.stdout.write("open\n");
setInterval(() => undefined, 1_000);
