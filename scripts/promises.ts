/**
 * Refuses each `void` before a promise, which would hide a rejection that ends the process. The lint rule for promises
 * sees it only as a separate statement. The API of the TypeScript compiler knows what comes after a `void`.
 */
import { relative } from "node:path";
import type { Expression, Node } from "typescript/unstable/ast";
import { isVoidExpression } from "typescript/unstable/ast/is";
import { API, type Checker } from "typescript/unstable/sync";
import { root } from "./root.ts";

const PROJECTS = ["tsconfig.json", "src/portal/tsconfig.json"];

const places = new Set<string>();
const api = new API({ cwd: root });
for (const config of PROJECTS) {
  const { program, checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
  for (const name of program.getSourceFileNames()) {
    if (!name.startsWith(root) || name.includes("/node_modules/")) continue;
    const file = program.getSourceFile(name)!;
    if (!file.text.includes("void ")) continue;
    for (const operand of promisesIn(operandsOf(file), checker)) {
      places.add(`${relative(root, name)}:${file.text.slice(0, operand.end).split("\n").length}`);
    }
  }
}
api.close();
for (const place of places)
  console.error(`${place}: void hides a rejection; await the promise, catch it, or use unawaited`);
process.exitCode = places.size === 0 ? 0 : 1;

function operandsOf(node: Node): Expression[] {
  const operands: Expression[] = isVoidExpression(node) ? [node.expression] : [];
  node.forEachChild((child) => void operands.push(...operandsOf(child)));
  return operands;
}

function promisesIn(operands: readonly Expression[], checker: Checker): Expression[] {
  if (operands.length === 0) return [];
  const types = checker.getTypeAtLocation(operands);
  return operands.filter((_, at) => {
    const type = types[at] === undefined ? undefined : checker.getNonNullableType(types[at]);
    return type !== undefined && checker.getPropertyOfType(type, "then") !== undefined;
  });
}
