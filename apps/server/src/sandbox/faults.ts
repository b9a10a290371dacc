import {
  MAX_SANDBOX_FAULTS,
  type SandboxFault,
  type SandboxFaultRequest,
  type SandboxWebhookFaults,
} from "@bikeshare/contract/sandbox";
import type { CommandContext } from "../command-context.ts";
import { commandError } from "../command-errors.ts";
import { notifyKeysChanged } from "../partners/keys/service.ts";
import type { Transaction } from "../storage/db/database.ts";
import { endingSooner, lastingFaults, meetFault, newFault } from "./faults.rules.ts";
import { findSandbox, lockSandboxCity, updateFaults, updateWebhookFaults } from "./queries.ts";

/*
 * Faults are errors that a partner asks its sandbox to simulate, in answers of the API or in deliveries. Each process caches,
 * with each key, whether the key's sandbox has faults of the API, so every change of these notifies the processes to reload
 * the keys.
 */

/** Adds a fault to a sandbox's API. @returns all faults that have not ended */
export function addFault(
  context: CommandContext,
  systemId: string,
  fault: SandboxFaultRequest,
): Promise<SandboxFault[]> {
  return context.db.transaction(async (tx) => {
    const now = context.clock();
    const faults = [...lastingFaults(await lockFaults(tx, systemId), now), newFault(fault, now)];
    if (faults.length > MAX_SANDBOX_FAULTS)
      throw commandError("conflict", "sandboxFaults", { limit: MAX_SANDBOX_FAULTS });
    await writeFaults(tx, systemId, faults);
    return faults;
  });
}

/** Ends all faults of a sandbox's API. Locks them: a request that takes one would otherwise write the others back. */
export function endFaults({ db }: CommandContext, systemId: string): Promise<void> {
  return db.transaction(async (tx) => {
    await lockSandboxCity(tx, systemId);
    await writeFaults(tx, systemId, []);
  });
}

/**
 * Returns the fault that a request meets, and counts the request towards the fault's end.
 * @param route such as `GET /v1/stations/:id`
 */
export function takeFault(context: CommandContext, systemId: string, route: string): Promise<SandboxFault | undefined> {
  return context.db.transaction(async (tx) => {
    const faults = await lockFaults(tx, systemId);
    const { met, left } = meetFault(faults, route, { now: context.clock(), chance: context.ids.random() });
    const isCounted = met !== undefined && met.count !== null;
    if (isCounted || left.length < faults.length) await writeFaults(tx, systemId, left);
    return met;
  });
}

/** Sets the faults of a sandbox's deliveries, from now on. */
export async function setWebhookFaults(
  { db }: CommandContext,
  systemId: string,
  faults: SandboxWebhookFaults,
): Promise<void> {
  const { delay, duplicate, reorder, bad_signature: badSignature, down } = faults;
  const isNone = delay === 0 && !duplicate && !reorder && !badSignature && !down;
  await db.transaction(async (tx) => {
    // An advance of the clock would otherwise write back the faults that it has read.
    await lockSandboxCity(tx, systemId);
    await updateWebhookFaults(tx, systemId, isNone ? null : faults);
    tx.notify("webhook_endpoints", systemId);
  });
}

/**
 * Lets `seconds` pass for the faults of a sandbox's API and deliveries: an advance of a sandbox's clock does not change the
 * service's clock, so their ends are moved instead. Removes the API's faults that have then ended. Those of deliveries stay
 * stored: their `until` says that they are over. The caller has locked the sandbox, and notifies the processes that cache
 * faults.
 */
export async function endFaultsSooner(tx: Transaction, systemId: string, now: number, seconds: number): Promise<void> {
  const sandbox = await findSandbox(tx, systemId);
  const { faults, webhook_faults: ofWebhooks } = sandbox ?? {};
  if (faults) {
    const sooner = lastingFaults(
      faults.map((fault) => endingSooner(fault, now, seconds)),
      now,
    );
    await updateFaults(tx, systemId, sooner.length === 0 ? null : sooner);
  }
  if (ofWebhooks) await updateWebhookFaults(tx, systemId, endingSooner(ofWebhooks, now, seconds));
}

/** Locks a sandbox. @returns the faults of its API, ended ones too */
async function lockFaults(tx: Transaction, systemId: string): Promise<readonly SandboxFault[]> {
  await lockSandboxCity(tx, systemId);
  return (await findSandbox(tx, systemId))?.faults ?? [];
}

/** Stores the faults of a sandbox's API, and makes processes reload the keys. */
async function writeFaults(tx: Transaction, systemId: string, faults: readonly SandboxFault[]): Promise<void> {
  await updateFaults(tx, systemId, faults.length === 0 ? null : faults);
  await notifyKeysChanged(tx, systemId);
}
