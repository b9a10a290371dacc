// Made from the migrations by `pnpm --filter @bikeshare/server run db:types`: do not edit.

/** The tables and the values of their columns as they are read. */
export interface Tables {
  readonly audit_log: {
    readonly system_id: string;
    readonly id: string;
    readonly at: Date;
    readonly actor: string;
    readonly action: string;
    readonly subject: string;
    readonly detail: unknown;
  };
  readonly bikes: {
    readonly system_id: string;
    readonly id: string;
    readonly number: string | null;
    readonly vehicle_type_id: string | null;
    readonly vehicle_state: "available" | "reserved" | "on_trip" | "non_operational" | "non_contactable" | "missing" | "removed";
    readonly station_id: string | null;
    readonly lat: number | null;
    readonly lon: number | null;
    readonly current_range_meters: number | null;
    readonly last_reported: Date | null;
    readonly updated_at: Date;
    readonly source: string;
    readonly ride_id: string | null;
    readonly reservation_id: string | null;
    readonly reported_state: "available" | "non_operational" | "non_contactable" | "missing" | "removed" | null;
    readonly reported_state_at: Date | null;
    readonly reported_station_id: string | null;
    readonly reported_lat: number | null;
    readonly reported_lon: number | null;
    readonly reported_position_at: Date | null;
    readonly reported_range_at: Date | null;
    readonly public_id: string | null;
    readonly json: string;
  };
  readonly event_counts: {
    readonly system_id: string;
    readonly recorded_on: string;
    readonly name: string;
    readonly partner_id: string;
    readonly n: number;
  };
  readonly event_outbox: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
    readonly occurred_at: Date;
    readonly partner_id: string | null;
    readonly data: string;
  };
  readonly event_sequences: {
    readonly system_id: string;
    readonly last_position: number;
  };
  readonly events: {
    readonly system_id: string;
    readonly recorded_on: string;
    readonly position: number;
    readonly id: string;
    readonly name: string;
    readonly occurred_at: Date;
    readonly partner_id: string | null;
    readonly data: string;
  };
  readonly gbfs_descriptions: {
    readonly system_id: string;
    readonly source: string;
    readonly feed: "system_information" | "vehicle_types" | "system_regions";
    readonly as_of: Date;
    readonly content: unknown;
  };
  readonly gbfs_feed_health: {
    readonly system_id: string;
    readonly source: string;
    readonly feed: string;
    readonly checked_at: Date;
    readonly succeeded_at: Date | null;
    readonly failing_since: Date | null;
    readonly failures: number;
    readonly message: string | null;
  };
  readonly gbfs_pending_station_parts: {
    readonly system_id: string;
    readonly source: string;
    readonly station_id: string;
    readonly part: "information" | "status";
    readonly as_of: Date | null;
    readonly content: unknown;
  };
  readonly gbfs_publications: {
    readonly system_id: string;
    readonly version: string;
    readonly feed: string;
    readonly digest: Uint8Array;
    readonly last_updated: Date;
    readonly shares_second: boolean;
  };
  readonly gbfs_sources: {
    readonly system_id: string;
    readonly source: string;
    readonly information_at: Date | null;
    readonly status_at: Date | null;
    readonly previous_status_at: Date | null;
    readonly vehicles_at: Date | null;
    readonly published_id: string | null;
  };
  readonly idempotency_keys: {
    readonly system_id: string;
    readonly caller: string;
    readonly path: string;
    readonly key: string;
    readonly body_hash: Uint8Array;
    readonly status: number | null;
    readonly body: string | null;
    readonly created_at: Date;
  };
  readonly import_overlaps: {
    readonly system_id: string;
    readonly earlier_id: string;
    readonly import_id: string;
  };
  readonly imports: {
    readonly system_id: string;
    readonly id: string;
    readonly kind: "trips" | "gbfs";
    readonly source: string;
    readonly at: Date;
    readonly status: "running" | "done" | "undoing" | "undone";
    readonly created: number;
    readonly updated: number;
    readonly unchanged: number;
    readonly rejected: number;
    readonly stations_created: number;
    readonly first_at: Date | null;
    readonly last_at: Date | null;
    readonly report: string | null;
    readonly detail: unknown;
    readonly undone_at: Date | null;
  };
  readonly keys: {
    readonly system_id: string;
    readonly id: string;
    readonly partner_id: string | null;
    readonly name: string | null;
    readonly hash: Uint8Array;
    readonly last4: string;
    readonly scopes: readonly string[];
    readonly rate_limit: number | null;
    readonly created_at: Date;
    readonly expires_at: Date | null;
    readonly revoked_at: Date | null;
    readonly rotated_to: string | null;
    readonly compromised_at: Date | null;
    readonly last_used_at: Date | null;
    readonly last_used_path: string | null;
    readonly last_used_address: string | null;
  };
  readonly list_counts: {
    readonly system_id: string;
    readonly list: "stations" | "bikes" | "rides";
    readonly slot: number;
    readonly n: number;
    readonly changes: number;
  };
  readonly migrations: {
    readonly number: number;
    readonly name: string;
    readonly applied_at: Date;
  };
  readonly partners: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
    readonly created_at: Date;
    readonly max_reservations: number | null;
    readonly suspended_at: Date | null;
    readonly removed_at: Date | null;
  };
  readonly regions: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
  };
  readonly reservations: {
    readonly system_id: string;
    readonly id: string;
    readonly partner_id: string;
    readonly status: "active" | "fulfilled" | "cancelled" | "expired";
    readonly station_id: string | null;
    readonly bike_id: string;
    readonly vehicle_type_id: string | null;
    readonly rider_ref: string | null;
    readonly created_at: Date;
    readonly expires_at: Date;
    readonly cancelled_at: Date | null;
    readonly cancel_reason: "partner" | "operator" | "bike_unavailable" | null;
    readonly ride_id: string | null;
    readonly updated_at: Date;
  };
  readonly ride_counts: {
    readonly system_id: string;
    readonly period: "month" | "day" | "hour";
    readonly starts_at: Date;
    readonly slot: number;
    readonly n: number;
  };
  readonly rides: {
    readonly system_id: string;
    readonly id: string;
    readonly bike_id: string;
    readonly status: "started" | "completed" | "cancelled";
    readonly start_station_id: string | null;
    readonly end_station_id: string | null;
    readonly started_at: Date;
    readonly ended_at: Date | null;
    readonly duration_seconds: number | null;
    readonly distance_meters: number | null;
    readonly vehicle_type_id: string | null;
    readonly rider_category: "member" | "casual" | null;
    readonly end_reason: "returned" | "free_floating" | "operator" | "timeout" | "cancelled" | null;
    readonly is_countable: boolean | null;
    readonly reservation_id: string | null;
    readonly updated_at: Date;
    readonly source: string;
    readonly import_id: string | null;
    readonly json: string;
  };
  readonly stations: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
    readonly short_name: string | null;
    readonly lat: number;
    readonly lon: number;
    readonly address: string | null;
    readonly region_id: string | null;
    readonly capacity: number | null;
    readonly is_virtual_station: boolean;
    readonly is_installed: boolean;
    readonly is_renting: boolean;
    readonly is_returning: boolean;
    readonly num_bikes_available: number;
    readonly num_bikes_reserved: number;
    readonly num_bikes_disabled: number | null;
    readonly num_docks_available: number | null;
    readonly num_docks_disabled: number | null;
    readonly vehicle_types_available: unknown;
    readonly status: "planned" | "online" | "offline" | "removed";
    readonly offline_reason: "flags" | "operator" | "removed_from_source" | "stale" | null;
    readonly last_reported: Date | null;
    readonly updated_at: Date;
    readonly source: string;
    readonly counters: "mirrored" | "operated";
    readonly absent_snapshots: number;
    readonly information_as_of: Date | null;
    readonly status_as_of: Date | null;
    readonly was_installed: boolean;
    readonly import_id: string | null;
    readonly json: string;
  };
  readonly systems: {
    readonly system_id: string;
    readonly name: string;
    readonly created_at: Date;
    readonly timezone: string | null;
    readonly language: string | null;
    readonly feed_contact_email: string | null;
    readonly opening_hours: string | null;
    readonly operator: string | null;
    readonly url: string | null;
    readonly licence: string | null;
  };
  readonly vehicle_types: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string | null;
    readonly form_factor: "bicycle" | "cargo_bicycle" | "car" | "moped" | "scooter_standing" | "scooter_seated" | "other" | null;
    readonly propulsion_type: "human" | "electric_assist" | "electric" | "combustion" | "combustion_diesel" | "hybrid" | "plug_in_hybrid" | "hydrogen_fuel_cell" | null;
    readonly max_range_meters: number | null;
  };
  readonly webhook_attempts: {
    readonly system_id: string;
    readonly started_on: string;
    readonly delivery_id: string;
    readonly number: number;
    readonly endpoint_id: string;
    readonly started_at: Date;
    readonly outcome: "succeeded" | "rejected" | "failed" | "unknown";
    readonly failure: string | null;
    readonly detail: string | null;
    readonly url: string;
    readonly request_headers: string | null;
    readonly request_body: string | null;
    readonly remote_address: string | null;
    readonly status: number | null;
    readonly response_headers: string | null;
    readonly response_body: Uint8Array | null;
    readonly response_cut: boolean;
    readonly response_cut_for: "success" | "repeated_failure" | "daily_budget" | null;
    readonly dns_ms: number | null;
    readonly connect_ms: number | null;
    readonly tls_ms: number | null;
    readonly first_byte_ms: number | null;
    readonly total_ms: number | null;
    readonly next_at: Date | null;
    readonly next_why: string | null;
  };
  readonly webhook_bodies: {
    readonly system_id: string;
    readonly created_on: string;
    readonly event_id: string;
    readonly event: string;
    readonly occurred_at: Date;
    readonly data: string;
  };
  readonly webhook_deliveries: {
    readonly system_id: string;
    readonly created_on: string;
    readonly id: string;
    readonly endpoint_id: string;
    readonly event_id: string;
    readonly event: string;
    readonly created_at: Date;
    readonly status: "pending" | "succeeded" | "failed" | "held";
    readonly attempts: number;
    readonly finished_at: Date | null;
    readonly stuck: boolean;
  };
  readonly webhook_encryption_keys: {
    readonly system_id: string;
    readonly fingerprint: string;
    readonly recorded_at: Date;
  };
  readonly webhook_endpoints: {
    readonly system_id: string;
    readonly id: string;
    readonly partner_id: string;
    readonly tag: string;
    readonly url: string;
    readonly events: readonly string[];
    readonly email: string | null;
    readonly signature: "service" | "both";
    readonly status: "active" | "probing" | "paused";
    readonly pause_reason: "partner" | "operator" | "failing" | "gone" | "probe_failed" | "suspended" | "removed" | null;
    readonly paused_at: Date | null;
    readonly created_at: Date;
    readonly updated_at: Date;
  };
  readonly webhook_lanes: {
    readonly system_id: string;
    readonly endpoint_id: string;
    readonly worker: string | null;
    readonly token: number;
    readonly leased_until: Date | null;
    readonly failing_since: Date | null;
    readonly failures: number;
    readonly failed_deliveries: readonly string[];
    readonly last_failed_at: Date | null;
    readonly gone_answers: number;
    readonly gone_since: Date | null;
    readonly warned: number;
  };
  readonly webhook_log_sizes: {
    readonly system_id: string;
    readonly endpoint_id: string;
    readonly day: string;
    readonly bytes: number;
    readonly answer_bytes: number;
  };
  readonly webhook_mails: {
    readonly system_id: string;
    readonly id: string;
    readonly endpoint_id: string;
    readonly subject: string;
    readonly body: string;
    readonly created_at: Date;
    readonly attempts: number;
    readonly due_at: Date;
  };
  readonly webhook_queue: {
    readonly system_id: string;
    readonly delivery_id: string;
    readonly endpoint_id: string;
    readonly created_on: string;
    readonly event_id: string;
    readonly replay: boolean;
    readonly due_at: Date;
    readonly attempts: number;
    readonly tries: number;
    readonly claim: number | null;
    readonly claimed_at: Date | null;
  };
  readonly webhook_replay_items: {
    readonly system_id: string;
    readonly replay_id: string;
    readonly created_on: string;
    readonly delivery_id: string;
  };
  readonly webhook_replays: {
    readonly system_id: string;
    readonly id: string;
    readonly endpoint_id: string;
    readonly since: Date;
    readonly until: Date;
    readonly total: number;
    readonly queued: number;
    readonly created_at: Date;
    readonly finished_at: Date | null;
  };
  readonly webhook_secrets: {
    readonly system_id: string;
    readonly id: string;
    readonly endpoint_id: string;
    readonly encrypted: string;
    readonly created_at: Date;
    readonly expires_at: Date | null;
  };
  readonly webhook_station_notices: {
    readonly system_id: string;
    readonly station_id: string;
    readonly notified_at: Date;
    readonly json_hash: number;
  };
  readonly webhook_workers: {
    readonly system_id: string;
    readonly worker: string;
    readonly alive_until: Date;
  };
}
