/** Lets this process import .tsx files from a checkout. Node itself strips types, but does not read JSX. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

// The executable has React's production build too. React's development checks are for people who change the screens.
process.env.NODE_ENV ??= "production";

registerHooks({
  load(url, context, next) {
    if (!/\.tsx(\?|$)/.test(url)) return next(url, context);
    const sourcefile = fileURLToPath(url);
    const { code } = transformSync(readFileSync(sourcefile, "utf8"), {
      loader: "tsx",
      jsx: "automatic",
      target: "node24",
      sourcemap: "inline",
      sourcefile,
    });
    return { format: "module", source: code, shortCircuit: true };
  },
});
