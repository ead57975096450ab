import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Comment, type Declaration, type ModuleExportName, type Program, parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";

// Reads the sources with the parser that knip brings anyway: TypeScript 7 has no API to ask, and names and comments need
// no types. Exports are followed by name from src/index.ts to the declaration, as a reader follows them.

const root = fileURLToPath(new URL("..", import.meta.url));

/** Something that should have a doc comment, and where it starts. */
interface Place {
  readonly name: string;
  readonly file: SourceFile;
  readonly start: number;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly statements: Program["body"];
  readonly comments: readonly Comment[];
}

const folders = readdirSync(join(root, "packages"));
const exportedByFolder = new Map(
  folders.map((folder) => [folder, findExports(join(root, "packages", folder, "src", "index.ts"))]),
);
const methods = [...exportedByFolder.values()].flat().flatMap(listMethods);
const documentedMethods = new Set(methods.filter((method) => !isUndocumented(method)).map(({ name }) => name));

describe.each(folders)("packages/%s", (folder) => {
  const exported = exportedByFolder.get(folder) ?? [];

  it("[PK1] every exported name has a doc comment where it is declared", () => {
    expect(exported.length).toBeGreaterThan(0);
    expect(exported.filter(isUndocumented).map(describePlace)).toEqual([]);
  });

  it("[PK2] every public method of an exported class or interface has a doc comment, its own or an inherited one", () => {
    const undocumented = exported.flatMap(listMethods).filter(isUndocumented);
    const inheritsNone = ({ inheritable }: Method) => !inheritable.some((name) => documentedMethods.has(name));
    expect(undocumented.filter(inheritsNone).map(describePlace)).toEqual([]);
  });
});

interface Exported extends Place {
  readonly declaration: Declaration;
}

/** The declarations behind the names that an index exports. A name that is a type and a value has two. */
function findExports(indexPath: string): Exported[] {
  return readSourceFile(indexPath).statements.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || statement.source === null)
      throw new Error(`${indexPath} does more than re-export by name`);
    const file = readSourceFile(join(dirname(indexPath), statement.source.value));
    return statement.specifiers.flatMap((specifier) => findDeclarations(file, nameOf(specifier.local)));
  });
}

function findDeclarations(file: SourceFile, name: string): Exported[] {
  const found = file.statements.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) return [];
    const { start, declaration } = statement;
    return namesOf(declaration).includes(name) ? [{ name, file, start, declaration }] : [];
  });
  if (found.length === 0) throw new Error(`${file.path} has no declaration of ${name} with its export`);
  // The comment of an overloaded function stands at its first signature.
  return found.filter(({ declaration }, at) => at === 0 || !isFunction(declaration));
}

interface Method extends Place {
  /** The methods, as `Type.method`, whose comment an editor shows for this one when it has none. */
  readonly inheritable: readonly string[];
}

/** The methods that a user can call, and that are not overrides of what the class extends. */
function listMethods({ name, file, declaration }: Exported): Method[] {
  if (declaration.type !== "ClassDeclaration" && declaration.type !== "TSInterfaceDeclaration") return [];
  const above = declaration.type === "ClassDeclaration" ? (declaration.implements ?? []) : [];
  return declaration.body.body.flatMap((member) => {
    if (member.type !== "MethodDefinition" && member.type !== "TSMethodSignature") return [];
    if (member.kind !== "method" || ("override" in member && member.override === true)) return [];
    if (member.key.type !== "Identifier" || (member.accessibility ?? "public") !== "public") return [];
    const { start, key } = member;
    const inheritable = above.map(
      ({ expression }) => `${file.text.slice(expression.start, expression.end)}.${key.name}`,
    );
    return [{ name: `${name}.${key.name}`, file, start, inheritable }];
  });
}

/** Whether no doc comment ends just before: only blank space and other comments may stand between. */
function isUndocumented({ file, start }: Place): boolean {
  const before = file.comments.filter((comment) => comment.end <= start).reverse();
  let reached = start;
  for (const comment of before) {
    if (file.text.slice(comment.end, reached).trim() !== "") return true;
    if (comment.type === "Block" && /^\*[\s*]*\w/.test(comment.value)) return false;
    reached = comment.start;
  }
  return true;
}

function describePlace({ name, file, start }: Place): string {
  return `${relative(root, file.path)}:${file.text.slice(0, start).split("\n").length} ${name}`;
}

function readSourceFile(path: string): SourceFile {
  const text = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join(", ")}`);
  return { path, text, statements: program.body, comments };
}

function namesOf(declaration: Declaration): string[] {
  if (declaration.type === "VariableDeclaration")
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

function nameOf(exportName: ModuleExportName): string {
  return exportName.type === "Literal" ? exportName.value : exportName.name;
}

function isFunction({ type }: Declaration): boolean {
  return type === "FunctionDeclaration" || type === "TSDeclareFunction";
}
