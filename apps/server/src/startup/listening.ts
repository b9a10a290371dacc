import { once } from "node:events";
import { createServer } from "node:net";
import { ConfigError } from "../config.ts";
import { codeOf } from "../db/errors.ts";

/** Where to listen, and the variables that say so. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
  readonly hostVariable: string;
  readonly portVariable: string;
}

/**
 * Finds out whether one could listen somewhere, before work is done in vain.
 * @throws ConfigError
 */
export async function mustBeFree(at: ListenAt): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host: at.host, port: at.port, exclusive: true });
    await once(server, "listening");
  } catch (error) {
    throw explainListenFailure(error, at);
  } finally {
    server.close();
  }
}

/** What kept a server from listening, said so that an operator can mend it; `error` itself where nothing is known of it. */
export function explainListenFailure(error: unknown, at: ListenAt): unknown {
  const { host, port, hostVariable, portVariable } = at;
  const elsewhere = "Set it to 127.0.0.1, to 0.0.0.0 for all addresses, or to an address of this machine.";
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return new ConfigError(
        `${portVariable}=${port}: ${host}:${port} is in use. Stop what listens there, or set ${portVariable} to another port.`,
      );
    case "EACCES":
      return new ConfigError(
        `${portVariable}=${port}: this account may not listen there; ports below 1024 are usually the system's. Set ${portVariable} to 1024 or more, and let a proxy or a port forwarding take ${port}.`,
      );
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ConfigError(`${hostVariable}=${host}: is no name of an address. ${elsewhere}`);
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EINVAL":
      return new ConfigError(`${hostVariable}=${host}: is no address of this machine. ${elsewhere}`);
    default:
      return error;
  }
}
