import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { shellQuoted } from "../../src/domain/shell.ts";

const TEXTS = [
  "plain",
  "it's $HOME `id` \\ !",
  "\u001b[201~\u0003; rm -rf ~\r\n\t",
  "a\u0085b\u009bc\u2028d\u202ee\u200bf",
  "\\'\u0007'7",
];

describe("a text that is quoted for a shell", () => {
  it.each(["bash"])("is one word, byte for byte, in %s", (shell) => {
    for (const text of TEXTS) {
      const printed = execFileSync(shell, ["-c", `printf %s ${shellQuoted(text)}`], { encoding: "utf8" });
      expect(printed).toBe(text);
    }
  });

  it("has no character that a terminal acts on, or that nobody sees", () => {
    for (const text of TEXTS) expect(shellQuoted(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });
});
