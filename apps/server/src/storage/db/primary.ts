import pg from "pg";
import { DatabaseUnavailable, sqlState } from "./errors.ts";

/*
 * While a failover moves an address to another server, it still leads to the old one for a moment, which may be back by then
 * as a standby. A connection made in that moment would last: its reads would show what that server replays late or not at
 * all, and its writes would be refused.
 */

/** Knows what its server has said of itself: PostgreSQL 14 and later say while a connection is made whether they are a standby. */
export class ReportingClient extends pg.Client {
  isStandbyReported = false;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.connection.on("parameterStatus", ({ parameterName: name, parameterValue: value }: ParameterStatus) => {
      if (name === "in_hot_standby") this.isStandbyReported = value === "on";
    });
  }
}

interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** The server that a connection leads to is a standby where the primary is needed: the right one may be there in a moment. */
class StandbyRefused extends DatabaseUnavailable {
  override readonly name = "StandbyRefused";
  /** As if it had been asked to write. */
  readonly code = sqlState.readOnlySqlTransaction;
}

/**
 * Fails where a new connection leads to a standby. To a primary it costs nothing.
 * @throws StandbyRefused
 */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  if (!(client instanceof ReportingClient) || !client.isStandbyReported) return;
  // Asked, because a pooler repeats what its server was when the pooler connected to it.
  const { rows } = await client.query<{ is_standby: boolean }>("select pg_is_in_recovery() as is_standby");
  if (rows[0]?.is_standby === true) throw new StandbyRefused("the server is a standby, and takes no writes");
}
