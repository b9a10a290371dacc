import pg from "pg";
import { DatabaseUnavailable, sqlState } from "./errors.ts";

/*
 * Protection against connections to a former primary. While a failover moves an address to another server, the address
 * still leads to the old server for a moment, and the old server may already be a standby. A connection made in that moment
 * would stay there: its reads would show late data or none, and its writes would be rejected.
 */

/** A client that remembers whether its server is a standby, which PostgreSQL 14 and later report while connecting. */
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

/** A connection that needs the primary has reached a standby. After a failover a new attempt may reach the primary. */
class StandbyRefused extends DatabaseUnavailable {
  override readonly name = "StandbyRefused";
  /** PostgreSQL's code for a write on a standby. */
  readonly code = sqlState.readOnlySqlTransaction;
}

/**
 * Throws if a new connection leads to a standby. Sends a statement only if the server reported itself as a standby.
 * @throws StandbyRefused
 */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  if (!(client instanceof ReportingClient) || !client.isStandbyReported) return;
  // Asks the server, because a pooler reports the state that the server had when the pooler connected.
  const { rows } = await client.query<{ is_standby: boolean }>("select pg_is_in_recovery() as is_standby");
  if (rows[0]?.is_standby === true) throw new StandbyRefused("the server is a standby, and takes no writes");
}
