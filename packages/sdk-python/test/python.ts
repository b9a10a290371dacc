import { execFileSync } from "node:child_process";

/** The Python modules that the tests need. Debian has packages of them. */
const MODULES = ["httpx", "pytest"];

/** A Python that can run the tests, or why there is none. */
export interface Interpreter {
  readonly path?: string;
  readonly missing?: string;
}

/** Returns the first Python that has all modules: the one on the path, which may lack them, or Debian's own. */
export function findPython(modules: readonly string[] = MODULES): Interpreter {
  const found = ["python3", "/usr/bin/python3"].find((path) => canImport(path, modules));
  return found === undefined ? { missing: `no Python 3.10 or newer with ${modules.join(" and ")}` } : { path: found };
}

function canImport(path: string, modules: readonly string[]): boolean {
  try {
    const program = `import sys; assert sys.version_info >= (3, 10); import ${modules.join(", ")}`;
    execFileSync(path, ["-c", program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
