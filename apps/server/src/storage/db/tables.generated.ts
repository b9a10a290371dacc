// Made from the migrations by `pnpm --filter @bikeshare/server run db:types`: do not edit.

/** The tables and the values of their columns as they are read. */
export interface Tables {
  readonly agencies: {
    readonly system_id: string;
    readonly partner_id: string;
    readonly agency_id: string;
    readonly time_zone: string | null;
    readonly trips_since: Date | null;
    readonly boundary: unknown;
    readonly requirements: unknown;
    readonly left_out: unknown;
    readonly boundary_hash: string | null;
  };
  readonly alerts: {
    readonly name: string;
    readonly scope: string;
    readonly severity: "warning" | "failure";
    readonly detail: string;
    readonly fix: string;
    readonly began_at: Date;
    readonly seen_at: Date;
    readonly mailed_at: Date | null;
    readonly ended_at: Date | null;
    readonly episodes: number;
    readonly unmailed: "begins" | "worsens" | "lasts" | "ends" | null;
    readonly results: unknown;
  };
  readonly api_processes: {
    readonly process: string;
    readonly alive_until: Date;
  };
  readonly audit_log: {
    readonly system_id: string;
    readonly id: string;
    readonly at: Date;
    readonly logged_on: string;
    readonly actor: string;
    readonly action: string;
    readonly subject: string;
    readonly partner_id: string | null;
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
    readonly change_position: number;
    readonly source_facts: unknown;
    readonly last_event: string | null;
    readonly battery_percent: number | null;
    readonly reported_battery_at: Date | null;
    readonly reported_reason: string | null;
  };
  readonly change_resets: {
    readonly system_id: string;
    readonly list: "stations" | "bikes" | "rides" | "reservations";
    readonly n: number;
  };
  readonly check_acknowledgements: {
    readonly name: string;
    readonly scope: string;
    readonly subject: string;
    readonly severity: "warning" | "failure";
    readonly acknowledged_at: Date;
    readonly until: Date | null;
    readonly found_at: Date;
    readonly found_count: number | null;
  };
  readonly dashboard_links: {
    readonly system_id: string;
    readonly id: string;
    readonly hash: Uint8Array;
    readonly partner_id: string;
    readonly role: "admin" | "viewer";
    readonly viewer: string;
    readonly created_at: Date;
    readonly expires_at: Date;
    readonly session_hash: Uint8Array | null;
  };
  readonly descriptions: {
    readonly system_id: string;
    readonly kind: "system" | "vehicle_type" | "region" | "station" | "bike" | "pricing_plan" | "geofencing_zones";
    readonly id: string;
    readonly content: unknown;
    readonly set_at: Date;
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
  readonly export_schedules: {
    readonly system_id: string;
    readonly id: string;
    readonly kind: "rides" | "stations" | "station_status";
    readonly format: "csv" | "parquet";
    readonly privacy: "coarse" | "stations" | "full" | null;
    readonly is_shared: boolean;
    readonly keep_months: number;
    readonly created_at: Date;
    readonly created_by: string;
    readonly asked_month: string | null;
  };
  readonly exports: {
    readonly system_id: string;
    readonly id: string;
    readonly kind: "rides" | "stations" | "station_status";
    readonly month: string | null;
    readonly format: "csv" | "parquet";
    readonly privacy: "coarse" | "stations" | "full" | null;
    readonly is_shared: boolean;
    readonly state: "waiting" | "running" | "ready" | "failed";
    readonly requested_at: Date;
    readonly requested_by: string;
    readonly schedule_id: string | null;
    readonly scheduled_month: string | null;
    readonly attempts: number;
    readonly seen_at: Date | null;
    readonly rows_done: number;
    readonly problem: string | null;
    readonly finished_at: Date | null;
    readonly facts: unknown;
  };
  readonly fleet_samples: {
    readonly system_id: string;
    readonly at: Date;
    readonly available: number | null;
    readonly reserved: number | null;
    readonly on_trip: number | null;
    readonly disabled: number | null;
    readonly missing: number | null;
    readonly online: number;
    readonly empty: number;
    readonly full: number;
    readonly offline: number;
    readonly is_live: boolean;
  };
  readonly flow_days: {
    readonly system_id: string;
    readonly start_station_id: string;
    readonly end_station_id: string;
    readonly day: string;
    readonly rides: number;
  };
  readonly flow_marks: {
    readonly system_id: string;
    readonly day: string;
    readonly due_at: Date;
  };
  readonly gbfs_descriptions: {
    readonly system_id: string;
    readonly source: string;
    readonly feed: "system_information" | "vehicle_types" | "system_regions";
    readonly as_of: Date;
    readonly content: unknown;
  };
  readonly gbfs_documents: {
    readonly system_id: string;
    readonly source: string;
    readonly feed: string;
    readonly as_of: Date;
    readonly digest: string;
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
    readonly data_at: Date | null;
    readonly content_digest: string | null;
    readonly content_since: Date | null;
    readonly stale_after_seconds: number | null;
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
  readonly gbfs_source_health: {
    readonly system_id: string;
    readonly source: string;
    readonly location: string;
    readonly interval_ms: number;
    readonly polled_at: Date;
    readonly failing_since: Date | null;
    readonly message: string | null;
  };
  readonly gbfs_sources: {
    readonly system_id: string;
    readonly source: string;
    readonly information_at: Date | null;
    readonly status_at: Date | null;
    readonly previous_status_at: Date | null;
    readonly vehicles_at: Date | null;
    readonly published_id: string | null;
    readonly first_at: Date;
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
  readonly identities: {
    readonly issuer: string;
    readonly subject: string;
    readonly person_id: string;
    readonly email: string | null;
    readonly created_at: Date;
    readonly last_used_at: Date;
  };
  readonly import_overlaps: {
    readonly system_id: string;
    readonly earlier_id: string;
    readonly import_id: string;
  };
  readonly import_reports: {
    readonly system_id: string;
    readonly import_id: string;
    readonly reasons: unknown;
    readonly first_entries: unknown;
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
    readonly removed: number;
    readonly detail: unknown;
    readonly undone_at: Date | null;
  };
  readonly invitations: {
    readonly system_id: string;
    readonly id: string;
    readonly hash: Uint8Array;
    readonly email: string;
    readonly partner_id: string | null;
    readonly role: "admin" | "viewer";
    readonly created_at: Date;
    readonly created_by: string;
    readonly expires_at: Date;
    readonly accepted_at: Date | null;
    readonly revoked_at: Date | null;
    readonly proves: string | null;
  };
  readonly key_holders: {
    readonly process: string;
    readonly host: string;
    readonly keys: readonly string[];
    readonly current_keys: readonly string[];
    readonly alive_until: Date;
  };
  readonly key_usage_days: {
    readonly system_id: string;
    readonly key_id: string;
    readonly day: string;
    readonly route: string;
    readonly partner_id: string | null;
    readonly requests: number;
    readonly client_errors: number;
    readonly server_errors: number;
    readonly rate_limited: number;
    readonly total_ms: number;
  };
  readonly key_usage_minutes: {
    readonly system_id: string;
    readonly counted_on: string;
    readonly key_id: string;
    readonly minute: Date;
    readonly partner_id: string | null;
    readonly requests: number;
    readonly client_errors: number;
    readonly server_errors: number;
    readonly rate_limited: number;
    readonly unlogged: number;
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
    readonly made_by_partner: boolean;
  };
  readonly list_counts: {
    readonly system_id: string;
    readonly list: "stations" | "bikes" | "rides";
    readonly slot: number;
    readonly n: number;
    readonly past_changes: number;
    readonly noted_changes: number;
    readonly late_changes: number;
  };
  readonly mds_providers: {
    readonly system_id: string;
    readonly provider_id: string;
    readonly namespace: string;
    readonly logged_since: Date;
  };
  readonly mds_trip_days: {
    readonly system_id: string;
    readonly time_zone: string;
    readonly day: string;
    readonly version: string;
    readonly counts: unknown;
  };
  readonly memberships: {
    readonly system_id: string;
    readonly person_id: string;
    readonly partner_id: string | null;
    readonly role: "admin" | "viewer";
    readonly created_at: Date;
    readonly id: string;
  };
  readonly migrations: {
    readonly number: number;
    readonly name: string;
    readonly oldest_program: string | null;
    readonly steps_done: number;
    readonly position: readonly string[] | null;
    readonly applied_at: Date | null;
  };
  readonly operator_mails: {
    readonly id: string;
    readonly address: string;
    readonly subject: string;
    readonly body: string;
    readonly created_at: Date;
    readonly attempts: number;
    readonly due_at: Date;
  };
  readonly partners: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
    readonly created_at: Date;
    readonly max_reservations: number | null;
    readonly suspended_at: Date | null;
    readonly removed_at: Date | null;
    readonly key_allowance: unknown;
  };
  readonly passkeys: {
    readonly id: string;
    readonly person_id: string;
    readonly public_key: Uint8Array;
    readonly counter: number;
    readonly transports: readonly string[];
    readonly name: string;
    readonly is_synced: boolean;
    readonly created_at: Date;
    readonly last_used_at: Date | null;
  };
  readonly people: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly created_at: Date;
    readonly password_hash: string | null;
    readonly totp_secret: string | null;
    readonly totp_last_step: number | null;
    readonly proof: string | null;
    readonly proof_system_id: string | null;
  };
  readonly placed_systems: {
    readonly system_id: string;
  };
  readonly recovery_codes: {
    readonly person_id: string;
    readonly hash: Uint8Array;
  };
  readonly regions: {
    readonly system_id: string;
    readonly id: string;
    readonly name: string;
  };
  readonly removed_bikes: {
    readonly system_id: string;
    readonly id: string;
    readonly change_position: number;
  };
  readonly replication_tokens: {
    readonly id: number;
    readonly token: string;
  };
  readonly request_log: {
    readonly system_id: string;
    readonly logged_on: string;
    readonly id: string;
    readonly at: Date;
    readonly key_id: string;
    readonly partner_id: string | null;
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly error: string | null;
    readonly ms: number;
    readonly address: string;
    readonly message: string | null;
    readonly target: string | null;
    readonly body: string | null;
    readonly body_bytes: number | null;
  };
  readonly reservation_quotas: {
    readonly system_id: string;
    readonly partner_id: string;
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
    readonly ride_cancelled_at: Date | null;
    readonly change_position: number;
  };
  readonly retired_public_ids: {
    readonly system_id: string;
    readonly public_id: string;
    readonly bike_id: string;
    readonly retired_at: Date;
  };
  readonly ride_counts: {
    readonly system_id: string;
    readonly period: "month" | "day" | "hour";
    readonly starts_at: Date;
    readonly slot: number;
    readonly n: number;
    readonly changes: number;
  };
  readonly ride_quarters: {
    readonly system_id: string;
    readonly starts_at: Date;
    readonly rides_started: number;
    readonly rides_ended: number;
  };
  readonly rider_alerts: {
    readonly system_id: string;
    readonly id: string;
    readonly source: string;
    readonly type: "system_closure" | "station_closure" | "station_move" | "other";
    readonly content: unknown;
    readonly opened_at: Date;
    readonly ends_at: Date | null;
    readonly ended_at: Date | null;
    readonly updated_at: Date;
    readonly closes_station: string | null;
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
    readonly change_position: number;
    readonly start_lat: number | null;
    readonly start_lon: number | null;
    readonly end_lat: number | null;
    readonly end_lon: number | null;
    readonly standard_cost: number | null;
    readonly actual_cost: number | null;
    readonly currency: string | null;
    readonly special_group: string | null;
  };
  readonly running_imports: {
    readonly system_id: string;
    readonly id: string;
    readonly kind: "trips" | "gbfs" | "replay";
    readonly began_at: Date;
    readonly alive_until: Date;
    readonly progressed_at: Date;
    readonly share: number | null;
    readonly rows_read: number;
    readonly created: number;
    readonly unchanged: number;
    readonly rejected: number;
  };
  readonly sandboxes: {
    readonly system_id: string;
    readonly live_system_id: string;
    readonly partner_id: string;
    readonly seed: number;
    readonly created_at: Date;
    readonly reset_at: Date;
    readonly used_at: Date;
    readonly rides_at: Date;
    readonly has_city: boolean;
    readonly advanced_seconds: number;
    readonly faults: unknown;
    readonly webhook_faults: unknown;
  };
  readonly sessions: {
    readonly id: string;
    readonly person_id: string;
    readonly hash: Uint8Array;
    readonly created_at: Date;
    readonly last_used_at: Date;
    readonly expires_at: Date;
    readonly confirmed_at: Date;
    readonly address: string;
    readonly user_agent: string;
    readonly id_token: string | null;
  };
  readonly station_changes: {
    readonly system_id: string;
    readonly station_id: string;
    readonly at: Date;
    readonly changed_on: string;
    readonly bikes: number;
    readonly reserved: number;
    readonly disabled: number | null;
    readonly docks: number | null;
    readonly docks_disabled: number | null;
    readonly flags: number;
    readonly by_type: string;
  };
  readonly station_hours: {
    readonly system_id: string;
    readonly station_id: string;
    readonly hour: Date;
    readonly rides_started: number;
    readonly rides_ended: number;
    readonly seconds_online: number;
    readonly seconds_empty: number;
    readonly seconds_full: number;
    readonly seconds_offline: number;
    readonly bike_seconds: number;
    readonly bikes: readonly (number | null)[];
    readonly docks: readonly (number | null)[];
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
    readonly docks_base: number | null;
    readonly change_position: number;
    readonly source_facts: unknown;
    readonly vehicle_docks_available: unknown;
    readonly state_since: Date;
    readonly known_since: Date;
  };
  readonly sum_marks: {
    readonly system_id: string;
    readonly hour: Date;
    readonly id: string;
    readonly of_flows: boolean;
    readonly and_after: boolean;
    readonly is_first: boolean;
  };
  readonly sum_progress: {
    readonly system_id: string;
    readonly position: number;
    readonly summed_from: Date;
    readonly next_hour: Date;
    readonly summed_to: Date | null;
    readonly flows_to: Date | null;
    readonly time_zone: string;
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
  readonly trip_upload_parts: {
    readonly system_id: string;
    readonly upload_id: string;
    readonly start: number;
    readonly content: Uint8Array;
  };
  readonly trip_uploads: {
    readonly system_id: string;
    readonly id: string;
    readonly file_name: string;
    readonly time_zone: string;
    readonly state: "receiving" | "waiting" | "running" | "tried" | "done" | "failed";
    readonly step: "trial" | "import";
    readonly bytes: number;
    readonly asked_at: Date;
    readonly asked_by: string;
    readonly changed_at: Date;
    readonly attempts: number;
    readonly seen_at: Date | null;
    readonly share: number;
    readonly rows_done: number;
    readonly import_id: string | null;
    readonly result: unknown;
    readonly problem: string | null;
  };
  readonly used_challenges: {
    readonly hash: Uint8Array;
    readonly expires_at: Date;
  };
  readonly vehicle_events: {
    readonly system_id: string;
    readonly happened_on: string;
    readonly at: Date;
    readonly id: string;
    readonly bike_id: string;
    readonly vehicle_state: string;
    readonly event_type: string;
    readonly ride_id: string | null;
    readonly station_id: string | null;
    readonly lat: number | null;
    readonly lon: number | null;
    readonly recorded_at: Date;
    readonly battery_percent: number | null;
    readonly from_state: string | null;
    readonly from_station_id: string | null;
    readonly from_lat: number | null;
    readonly from_lon: number | null;
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
    readonly response_truncated: boolean;
    readonly truncation_reason: "success" | "repeated_failure" | "daily_budget" | null;
    readonly dns_ms: number | null;
    readonly connect_ms: number | null;
    readonly tls_ms: number | null;
    readonly first_byte_ms: number | null;
    readonly total_ms: number | null;
    readonly next_attempt_at: Date | null;
    readonly next_attempt_reason: string | null;
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
    readonly resource_id: string | null;
    readonly created_at: Date;
    readonly status: "pending" | "succeeded" | "failed" | "held";
    readonly attempts: number;
    readonly latest_code: number | null;
    readonly latest_failure: string | null;
    readonly finished_at: Date | null;
    readonly problem: string | null;
    readonly failed_code: number | null;
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
    readonly name: string;
    readonly slot: number;
    readonly station_ids: readonly string[] | null;
    readonly region_ids: readonly string[] | null;
    readonly bbox: readonly number[] | null;
    readonly max_per_hour: number | null;
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
    readonly hour_ends_at: Date | null;
    readonly hour_sent: number;
    readonly hour_skipped: number;
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
    readonly crashes: number;
    readonly is_uncounted: boolean;
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
    readonly is_choice: boolean;
    readonly skipped: number;
    readonly is_stopped: boolean;
    readonly created_at: Date;
    readonly finished_at: Date | null;
    readonly next_held_at: Date | null;
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
  readonly webhook_threshold_states: {
    readonly system_id: string;
    readonly threshold_id: string;
    readonly station_id: string;
    readonly below_since: Date;
    readonly due_at: Date | null;
  };
  readonly webhook_threshold_stations: {
    readonly system_id: string;
    readonly station_id: string;
    readonly seen_at: Date;
    readonly seen: string;
  };
  readonly webhook_thresholds: {
    readonly system_id: string;
    readonly id: string;
    readonly endpoint_id: string;
    readonly position: number;
    readonly count_of: "bikes" | "docks";
    readonly fewer_than: number;
    readonly for_minutes: number;
    readonly station_ids: readonly string[] | null;
    readonly region_ids: readonly string[] | null;
    readonly since: Date | null;
  };
  readonly webhook_workers: {
    readonly system_id: string;
    readonly worker: string;
    readonly alive_until: Date;
  };
  readonly work_failures: {
    readonly system_id: string;
    readonly work: string;
    readonly unit: string;
    readonly failures: number;
    readonly crashes: number;
    readonly message: string;
    readonly began_at: Date;
    readonly due_at: Date | null;
  };
  readonly work_runs: {
    readonly system_id: string;
    readonly work: string;
    readonly run: string;
    readonly units: readonly string[];
    readonly ends_by: Date;
  };
}

/** The columns that statements write, with PostgreSQL's types. */
export const columnTypes = {
  agencies: { system_id: "text", partner_id: "text", agency_id: "uuid", time_zone: "text", trips_since: "timestamptz", boundary: "json", requirements: "json", left_out: "json", boundary_hash: "text" },
  alerts: { name: "text", scope: "text", severity: "text", detail: "text", fix: "text", began_at: "timestamptz", seen_at: "timestamptz", mailed_at: "timestamptz", ended_at: "timestamptz", episodes: "smallint", unmailed: "text", results: "jsonb" },
  api_processes: { process: "text", alive_until: "timestamptz" },
  audit_log: { system_id: "text", id: "text", at: "timestamptz", logged_on: "date", actor: "text", action: "text", subject: "text", partner_id: "text", detail: "jsonb" },
  bikes: { system_id: "text", id: "text", number: "text", vehicle_type_id: "text", vehicle_state: "text", station_id: "text", lat: "double precision", lon: "double precision", current_range_meters: "integer", last_reported: "timestamptz", updated_at: "timestamptz", source: "text", ride_id: "text", reservation_id: "text", reported_state: "text", reported_state_at: "timestamptz", reported_station_id: "text", reported_lat: "double precision", reported_lon: "double precision", reported_position_at: "timestamptz", reported_range_at: "timestamptz", public_id: "text", change_position: "bigint", source_facts: "json", last_event: "text", battery_percent: "smallint", reported_battery_at: "timestamptz", reported_reason: "text" },
  change_resets: { system_id: "text", list: "text", n: "bigint" },
  check_acknowledgements: { name: "text", scope: "text", subject: "text", severity: "text", acknowledged_at: "timestamptz", until: "timestamptz", found_at: "timestamptz", found_count: "integer" },
  dashboard_links: { system_id: "text", id: "text", hash: "bytea", partner_id: "text", role: "text", viewer: "text", created_at: "timestamptz", expires_at: "timestamptz", session_hash: "bytea" },
  descriptions: { system_id: "text", kind: "text", id: "text", content: "jsonb", set_at: "timestamptz" },
  event_counts: { system_id: "text", recorded_on: "date", name: "text", partner_id: "text", n: "bigint" },
  event_outbox: { system_id: "text", id: "text", name: "text", occurred_at: "timestamptz", partner_id: "text", data: "text" },
  event_sequences: { system_id: "text", last_position: "bigint" },
  events: { system_id: "text", recorded_on: "date", position: "bigint", id: "text", name: "text", occurred_at: "timestamptz", partner_id: "text", data: "text" },
  export_schedules: { system_id: "text", id: "text", kind: "text", format: "text", privacy: "text", is_shared: "boolean", keep_months: "smallint", created_at: "timestamptz", created_by: "text", asked_month: "text" },
  exports: { system_id: "text", id: "text", kind: "text", month: "text", format: "text", privacy: "text", is_shared: "boolean", state: "text", requested_at: "timestamptz", requested_by: "text", schedule_id: "text", scheduled_month: "text", attempts: "smallint", seen_at: "timestamptz", rows_done: "bigint", problem: "text", finished_at: "timestamptz", facts: "jsonb" },
  fleet_samples: { system_id: "text", at: "timestamptz", available: "integer", reserved: "integer", on_trip: "integer", disabled: "integer", missing: "integer", online: "integer", empty: "integer", full: "integer", offline: "integer", is_live: "boolean" },
  flow_days: { system_id: "text", start_station_id: "text", end_station_id: "text", day: "date", rides: "integer" },
  flow_marks: { system_id: "text", day: "date", due_at: "timestamptz" },
  gbfs_descriptions: { system_id: "text", source: "text", feed: "text", as_of: "timestamptz", content: "jsonb" },
  gbfs_documents: { system_id: "text", source: "text", feed: "text", as_of: "timestamptz", digest: "text", content: "json" },
  gbfs_feed_health: { system_id: "text", source: "text", feed: "text", checked_at: "timestamptz", succeeded_at: "timestamptz", failing_since: "timestamptz", failures: "integer", message: "text", data_at: "timestamptz", content_digest: "text", content_since: "timestamptz", stale_after_seconds: "integer" },
  gbfs_pending_station_parts: { system_id: "text", source: "text", station_id: "text", part: "text", as_of: "timestamptz", content: "jsonb" },
  gbfs_publications: { system_id: "text", version: "text", feed: "text", digest: "bytea", last_updated: "timestamptz", shares_second: "boolean" },
  gbfs_source_health: { system_id: "text", source: "text", location: "text", interval_ms: "integer", polled_at: "timestamptz", failing_since: "timestamptz", message: "text" },
  gbfs_sources: { system_id: "text", source: "text", information_at: "timestamptz", status_at: "timestamptz", previous_status_at: "timestamptz", vehicles_at: "timestamptz", published_id: "text", first_at: "timestamptz" },
  idempotency_keys: { system_id: "text", caller: "text", path: "text", key: "text", body_hash: "bytea", status: "smallint", body: "text", created_at: "timestamptz" },
  identities: { issuer: "text", subject: "text", person_id: "text", email: "text", created_at: "timestamptz", last_used_at: "timestamptz" },
  import_overlaps: { system_id: "text", earlier_id: "text", import_id: "text" },
  import_reports: { system_id: "text", import_id: "text", reasons: "jsonb", first_entries: "jsonb" },
  imports: { system_id: "text", id: "text", kind: "text", source: "text", at: "timestamptz", status: "text", created: "bigint", updated: "bigint", unchanged: "bigint", rejected: "bigint", stations_created: "bigint", first_at: "timestamptz", last_at: "timestamptz", report: "text", removed: "bigint", detail: "jsonb", undone_at: "timestamptz" },
  invitations: { system_id: "text", id: "text", hash: "bytea", email: "text", partner_id: "text", role: "text", created_at: "timestamptz", created_by: "text", expires_at: "timestamptz", accepted_at: "timestamptz", revoked_at: "timestamptz", proves: "text" },
  key_holders: { process: "text", host: "text", keys: "text[]", current_keys: "text[]", alive_until: "timestamptz" },
  key_usage_days: { system_id: "text", key_id: "text", day: "date", route: "text", partner_id: "text", requests: "bigint", client_errors: "bigint", server_errors: "bigint", rate_limited: "bigint", total_ms: "double precision" },
  key_usage_minutes: { system_id: "text", counted_on: "date", key_id: "text", minute: "timestamptz", partner_id: "text", requests: "integer", client_errors: "integer", server_errors: "integer", rate_limited: "integer", unlogged: "integer" },
  keys: { system_id: "text", id: "text", partner_id: "text", name: "text", hash: "bytea", last4: "text", scopes: "text[]", rate_limit: "integer", created_at: "timestamptz", expires_at: "timestamptz", revoked_at: "timestamptz", rotated_to: "text", compromised_at: "timestamptz", last_used_at: "timestamptz", last_used_path: "text", last_used_address: "text", made_by_partner: "boolean" },
  list_counts: { system_id: "text", list: "text", slot: "smallint", n: "bigint", past_changes: "bigint", noted_changes: "bigint", late_changes: "bigint" },
  mds_providers: { system_id: "text", provider_id: "uuid", namespace: "uuid", logged_since: "timestamptz" },
  mds_trip_days: { system_id: "text", time_zone: "text", day: "date", version: "text", counts: "json" },
  memberships: { system_id: "text", person_id: "text", partner_id: "text", role: "text", created_at: "timestamptz", id: "text" },
  migrations: { number: "integer", name: "text", oldest_program: "text", steps_done: "integer", position: "text[]", applied_at: "timestamptz" },
  operator_mails: { id: "text", address: "text", subject: "text", body: "text", created_at: "timestamptz", attempts: "smallint", due_at: "timestamptz" },
  partners: { system_id: "text", id: "text", name: "text", created_at: "timestamptz", max_reservations: "integer", suspended_at: "timestamptz", removed_at: "timestamptz", key_allowance: "jsonb" },
  passkeys: { id: "text", person_id: "text", public_key: "bytea", counter: "bigint", transports: "text[]", name: "text", is_synced: "boolean", created_at: "timestamptz", last_used_at: "timestamptz" },
  people: { id: "text", email: "text", name: "text", created_at: "timestamptz", password_hash: "text", totp_secret: "text", totp_last_step: "bigint", proof: "text", proof_system_id: "text" },
  placed_systems: { system_id: "text" },
  recovery_codes: { person_id: "text", hash: "bytea" },
  regions: { system_id: "text", id: "text", name: "text" },
  removed_bikes: { system_id: "text", id: "text", change_position: "bigint" },
  replication_tokens: { id: "integer", token: "text" },
  request_log: { system_id: "text", logged_on: "date", id: "text", at: "timestamptz", key_id: "text", partner_id: "text", method: "text", route: "text", status: "smallint", error: "text", ms: "real", address: "text", message: "text", target: "text", body: "text", body_bytes: "integer" },
  reservation_quotas: { system_id: "text", partner_id: "text" },
  reservations: { system_id: "text", id: "text", partner_id: "text", status: "text", station_id: "text", bike_id: "text", vehicle_type_id: "text", rider_ref: "text", created_at: "timestamptz", expires_at: "timestamptz", cancelled_at: "timestamptz", cancel_reason: "text", ride_id: "text", updated_at: "timestamptz", ride_cancelled_at: "timestamptz", change_position: "bigint" },
  retired_public_ids: { system_id: "text", public_id: "text", bike_id: "text", retired_at: "timestamptz" },
  ride_counts: { system_id: "text", period: "text", starts_at: "timestamptz", slot: "smallint", n: "bigint", changes: "bigint" },
  ride_quarters: { system_id: "text", starts_at: "timestamptz", rides_started: "integer", rides_ended: "integer" },
  rider_alerts: { system_id: "text", id: "text", source: "text", type: "text", content: "jsonb", opened_at: "timestamptz", ends_at: "timestamptz", ended_at: "timestamptz", updated_at: "timestamptz", closes_station: "text" },
  rides: { system_id: "text", id: "text", bike_id: "text", status: "text", start_station_id: "text", end_station_id: "text", started_at: "timestamptz", ended_at: "timestamptz", duration_seconds: "integer", distance_meters: "integer", vehicle_type_id: "text", rider_category: "text", end_reason: "text", is_countable: "boolean", reservation_id: "text", updated_at: "timestamptz", source: "text", import_id: "text", change_position: "bigint", start_lat: "double precision", start_lon: "double precision", end_lat: "double precision", end_lon: "double precision", standard_cost: "integer", actual_cost: "integer", currency: "text", special_group: "text" },
  running_imports: { system_id: "text", id: "text", kind: "text", began_at: "timestamptz", alive_until: "timestamptz", progressed_at: "timestamptz", share: "double precision", rows_read: "bigint", created: "bigint", unchanged: "bigint", rejected: "bigint" },
  sandboxes: { system_id: "text", live_system_id: "text", partner_id: "text", seed: "bigint", created_at: "timestamptz", reset_at: "timestamptz", used_at: "timestamptz", rides_at: "timestamptz", has_city: "boolean", advanced_seconds: "bigint", faults: "jsonb", webhook_faults: "jsonb" },
  sessions: { id: "text", person_id: "text", hash: "bytea", created_at: "timestamptz", last_used_at: "timestamptz", expires_at: "timestamptz", confirmed_at: "timestamptz", address: "text", user_agent: "text", id_token: "text" },
  station_changes: { system_id: "text", station_id: "text", at: "timestamptz", changed_on: "date", bikes: "integer", reserved: "integer", disabled: "integer", docks: "integer", docks_disabled: "integer", flags: "smallint", by_type: "text" },
  station_hours: { system_id: "text", station_id: "text", hour: "timestamptz", rides_started: "integer", rides_ended: "integer", seconds_online: "integer", seconds_empty: "integer", seconds_full: "integer", seconds_offline: "integer", bike_seconds: "bigint", bikes: "smallint[]", docks: "smallint[]" },
  stations: { system_id: "text", id: "text", name: "text", short_name: "text", lat: "double precision", lon: "double precision", address: "text", region_id: "text", capacity: "integer", is_virtual_station: "boolean", is_installed: "boolean", is_renting: "boolean", is_returning: "boolean", num_bikes_available: "integer", num_bikes_reserved: "integer", num_bikes_disabled: "integer", num_docks_available: "integer", num_docks_disabled: "integer", vehicle_types_available: "json", status: "text", offline_reason: "text", last_reported: "timestamptz", updated_at: "timestamptz", source: "text", counters: "text", absent_snapshots: "smallint", information_as_of: "timestamptz", status_as_of: "timestamptz", was_installed: "boolean", import_id: "text", docks_base: "integer", change_position: "bigint", source_facts: "json", vehicle_docks_available: "json", state_since: "timestamptz", known_since: "timestamptz" },
  sum_marks: { system_id: "text", hour: "timestamptz", id: "text", of_flows: "boolean", and_after: "boolean", is_first: "boolean" },
  sum_progress: { system_id: "text", position: "bigint", summed_from: "timestamptz", next_hour: "timestamptz", summed_to: "timestamptz", flows_to: "timestamptz", time_zone: "text" },
  systems: { system_id: "text", name: "text", created_at: "timestamptz", timezone: "text", language: "text", feed_contact_email: "text", opening_hours: "text", operator: "text", url: "text", licence: "text" },
  trip_upload_parts: { system_id: "text", upload_id: "text", start: "bigint", content: "bytea" },
  trip_uploads: { system_id: "text", id: "text", file_name: "text", time_zone: "text", state: "text", step: "text", bytes: "bigint", asked_at: "timestamptz", asked_by: "text", changed_at: "timestamptz", attempts: "smallint", seen_at: "timestamptz", share: "double precision", rows_done: "bigint", import_id: "text", result: "jsonb", problem: "text" },
  used_challenges: { hash: "bytea", expires_at: "timestamptz" },
  vehicle_events: { system_id: "text", happened_on: "date", at: "timestamptz", id: "uuid", bike_id: "text", vehicle_state: "text", event_type: "text", ride_id: "text", station_id: "text", lat: "double precision", lon: "double precision", recorded_at: "timestamptz", battery_percent: "smallint", from_state: "text", from_station_id: "text", from_lat: "double precision", from_lon: "double precision" },
  vehicle_types: { system_id: "text", id: "text", name: "text", form_factor: "text", propulsion_type: "text", max_range_meters: "double precision" },
  webhook_attempts: { system_id: "text", started_on: "date", delivery_id: "text", number: "smallint", endpoint_id: "text", started_at: "timestamptz", outcome: "text", failure: "text", detail: "text", url: "text", request_headers: "text", request_body: "text", remote_address: "text", status: "smallint", response_headers: "text", response_body: "bytea", response_truncated: "boolean", truncation_reason: "text", dns_ms: "real", connect_ms: "real", tls_ms: "real", first_byte_ms: "real", total_ms: "real", next_attempt_at: "timestamptz", next_attempt_reason: "text" },
  webhook_bodies: { system_id: "text", created_on: "date", event_id: "text", event: "text", occurred_at: "timestamptz", data: "text" },
  webhook_deliveries: { system_id: "text", created_on: "date", id: "text", endpoint_id: "text", event_id: "text", event: "text", resource_id: "text", created_at: "timestamptz", status: "text", attempts: "smallint", latest_code: "smallint", latest_failure: "text", finished_at: "timestamptz" },
  webhook_encryption_keys: { system_id: "text", fingerprint: "text", recorded_at: "timestamptz" },
  webhook_endpoints: { system_id: "text", id: "text", partner_id: "text", tag: "text", url: "text", events: "text[]", email: "text", signature: "text", status: "text", pause_reason: "text", paused_at: "timestamptz", created_at: "timestamptz", updated_at: "timestamptz", name: "text", slot: "smallint", station_ids: "text[]", region_ids: "text[]", bbox: "double precision[]", max_per_hour: "integer" },
  webhook_lanes: { system_id: "text", endpoint_id: "text", worker: "text", token: "bigint", leased_until: "timestamptz", failing_since: "timestamptz", failures: "integer", failed_deliveries: "text[]", last_failed_at: "timestamptz", gone_answers: "smallint", gone_since: "timestamptz", warned: "smallint", hour_ends_at: "timestamptz", hour_sent: "integer", hour_skipped: "integer" },
  webhook_log_sizes: { system_id: "text", endpoint_id: "text", day: "date", bytes: "bigint", answer_bytes: "bigint" },
  webhook_mails: { system_id: "text", id: "text", endpoint_id: "text", subject: "text", body: "text", created_at: "timestamptz", attempts: "smallint", due_at: "timestamptz" },
  webhook_queue: { system_id: "text", delivery_id: "text", endpoint_id: "text", created_on: "date", event_id: "text", replay: "boolean", due_at: "timestamptz", attempts: "smallint", tries: "smallint", claim: "bigint", claimed_at: "timestamptz", crashes: "smallint", is_uncounted: "boolean" },
  webhook_replay_items: { system_id: "text", replay_id: "text", created_on: "date", delivery_id: "text" },
  webhook_replays: { system_id: "text", id: "text", endpoint_id: "text", since: "timestamptz", until: "timestamptz", total: "bigint", queued: "bigint", is_choice: "boolean", skipped: "bigint", is_stopped: "boolean", created_at: "timestamptz", finished_at: "timestamptz", next_held_at: "timestamptz" },
  webhook_secrets: { system_id: "text", id: "text", endpoint_id: "text", encrypted: "text", created_at: "timestamptz", expires_at: "timestamptz" },
  webhook_station_notices: { system_id: "text", station_id: "text", notified_at: "timestamptz", json_hash: "bigint" },
  webhook_threshold_states: { system_id: "text", threshold_id: "text", station_id: "text", below_since: "timestamptz", due_at: "timestamptz" },
  webhook_threshold_stations: { system_id: "text", station_id: "text", seen_at: "timestamptz", seen: "text" },
  webhook_thresholds: { system_id: "text", id: "text", endpoint_id: "text", position: "smallint", count_of: "text", fewer_than: "integer", for_minutes: "integer", station_ids: "text[]", region_ids: "text[]", since: "timestamptz" },
  webhook_workers: { system_id: "text", worker: "text", alive_until: "timestamptz" },
  work_failures: { system_id: "text", work: "text", unit: "text", failures: "smallint", crashes: "smallint", message: "text", began_at: "timestamptz", due_at: "timestamptz" },
  work_runs: { system_id: "text", work: "text", run: "text", units: "text[]", ends_by: "timestamptz" },
} as const;

/** The columns that the database generates, with the expressions that it generates them with. */
export const generatedColumns = {
  bikes: { json: "bike_json(id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters, last_reported, updated_at)" },
  rides: { json: "ride_json(id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds, distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at)" },
  stations: { json: "station_json(id, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station, is_installed, is_renting, is_returning, num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available, num_docks_disabled, vehicle_types_available, status, offline_reason, last_reported, updated_at)" },
  webhook_deliveries: { problem: "CASE WHEN (status = ANY (ARRAY['failed'::text, 'held'::text])) THEN status WHEN ((status = 'pending'::text) AND (latest_failure IS NOT NULL)) THEN 'failing'::text ELSE NULL::text END", failed_code: "CASE WHEN (latest_failure IS NOT NULL) THEN latest_code ELSE NULL::smallint END" },
} as const;
