import type { EndpointMetadata } from "@bikeshare/contract";
import type { RateDecision } from "@bikeshare/rules";
import type { AppRoute } from "@ts-rest/core";
import type { FastifyRequest } from "fastify";
import type { KeyRow } from "../keys/service.ts";
import type { Transport } from "./transport.ts";

/** Who sends a request, as the hooks have found out. */
export interface Caller {
  readonly key: KeyRow;
  readonly rate: RateDecision;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set before any other hook runs. */
    transport: Transport | undefined;
    /** Set on endpoints that ask for a key. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** Set by ts-rest on every route of a contract. */
    tsRestRoute?: AppRoute;
  }
}

/** The caller of an endpoint that asks for a key. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw new Error(`${request.method} ${request.url} was reached without a key`);
  return request.caller;
}

/** The partner who calls, on endpoints that let no operator's key in. */
export function partnerOf(request: FastifyRequest): { readonly systemId: string; readonly partnerId: string } {
  const { key } = callerOf(request);
  if (key.partner_id === null) throw new Error(`${request.url} was reached with a key that has no partner`);
  return { systemId: key.system_id, partnerId: key.partner_id };
}

/** What a request's endpoint asks of its caller, from the contract; a path that is no endpoint asks for any key. */
export function scopeOf(request: FastifyRequest): EndpointMetadata["scope"] {
  const route = request.routeOptions.config.tsRestRoute;
  return route === undefined ? scopeOfPath(request.url) : scopeOfRoute(route);
}

/** What an endpoint of a contract asks of its caller. */
export function scopeOfRoute(route: AppRoute): EndpointMetadata["scope"] {
  return readMetadata(route).scope;
}

/** Whether a request's endpoint answers over plain HTTP from anywhere. */
export function answersPlainHttp(request: FastifyRequest): boolean {
  const route = request.routeOptions.config.tsRestRoute;
  return route !== undefined && readMetadata(route).plainHttp === true;
}

function readMetadata({ metadata }: AppRoute): EndpointMetadata {
  if (typeof metadata !== "object" || metadata === null || !("scope" in metadata)) {
    throw new Error("an endpoint of the contract names no scope");
  }
  return metadata as EndpointMetadata; // the contract's own type says so
}

/** A path that is no endpoint: below /operator and /v1 nobody learns that without a key. */
function scopeOfPath(url: string): EndpointMetadata["scope"] {
  if (/^\/operator(\/|\?|$)/.test(url)) return "operator";
  return /^\/v\d+(\/|\?|$)/.test(url) ? "any" : "none";
}
