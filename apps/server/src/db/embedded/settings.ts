const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/**
 * PostgreSQL's settings for one machine that it shares with this service. Written anew at each start
 * and included by postgresql.conf before the operator's own lines, so those win.
 * `memoryBytes`: what the machine, or the container, has.
 */
export function renderSettings(memoryBytes: number): string {
  const megabytes = (bytes: number) => `${Math.round(bytes / MiB)}MB`;
  return `# Written at each start. Your own settings go to the end of data/postgresql.conf and win.
# An eighth of the memory: Node.js and the page cache need the rest. Below 64 MB the indexes' upper pages are evicted
# under load; above 4 GB the checkpoint of a stop takes longer than supervisors wait.
shared_buffers = ${megabytes(clamp(memoryBytes / 8, 64 * MiB, 4 * GiB))}
# Only tells the planner what the page cache may hold. Too low: it shuns index scans; too high: it trusts a cold cache.
effective_cache_size = ${megabytes(memoryBytes / 2)}
# A sort or hash in one statement. Lower spills report queries to disk; higher times 200 connections exhausts the memory.
work_mem = ${megabytes(clamp(memoryBytes / 1024, 4 * MiB, 32 * MiB))}
# Index builds and vacuum, of which three may run at once. Lower: vacuum passes over the indexes several times.
maintenance_work_mem = ${megabytes(clamp(memoryBytes / 32, 64 * MiB, 512 * MiB))}
# Several processes of ours with a pool each, and command lines beside. Lower: a second process finds no seat;
# higher: a runaway pool slows everyone before it is refused.
max_connections = 200
# Write-ahead log between checkpoints. Lower: imports checkpoint all the time and write each page in full again;
# higher: more disk is held, and recovery after a crash takes longer (about 10 s a GB).
max_wal_size = 4GB
min_wal_size = 256MB
# Pages written in full after a checkpoint are most of the log's bytes; these binaries have pglz only.
wal_compression = on
# Statements here are short; compiling them costs more than it saves, and a misjudged plan stalls for 100 ms.
jit = off
# One random read on a solid-state disk costs about a sequential one. Higher: full scans where an index serves.
random_page_cost = 1.1
# A week of logs in a ring: each weekday's file is overwritten a week later.
logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%a.log'
log_truncate_on_rotation = on
log_rotation_age = 1d
log_rotation_size = 0
log_timezone = 'UTC'
timezone = 'UTC'
`;
}

/** What must hold whatever the files say: these go on the command line, which overrides them all. */
export function fixedSettings(port: number): string[] {
  const settings = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    // No socket file: its directory would be one more place to protect.
    unix_socket_directories: "",
    // An acknowledged row survives a power cut.
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
