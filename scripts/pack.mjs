/**
 * `npm run pack [-- FOLDER]`: packs every public package into a folder (default: packed/) that can be copied to another
 * machine, and prints the one command that installs the `coppice` command there.
 */
import { resolve } from "node:path";
import { makePackedFolder } from "./packed-folder.mjs";
import { buildPackages, installPackages, requireNode, rootFolder } from "./toolchain.mjs";

requireNode();
const folder = resolve(process.argv[2] ?? `${rootFolder}packed`);
process.exitCode = (await installPackages()) || (await buildPackages()) || (await pack());

async function pack() {
  try {
    const { tarballs, installCommand, commandPath } = makePackedFolder(folder);
    console.log(
      `\n${tarballs.length} packages in ${folder}. To have the command on this or another machine with Node 20.19 and npm,`,
    );
    console.log("copy the folder there and run, beside it:\n");
    console.log(`  ${installCommand}\n`);
    console.log(`Then \`${commandPath} --help\` lists what it does.`);
    return 0;
  } catch (error) {
    console.error(error.message);
    return 1;
  }
}
