/*
 * Runs the pods of deploy/kubernetes/ in Docker as a kubelet would: with their account, rights, variables, volumes, limits
 * and probes. It does not test Deployments, Services and the Ingress, which need a cluster.
 */
import assert from "node:assert/strict";
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Engine } from "./engine.ts";
import { backupIsGood, isConfined } from "./inspect.ts";

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number; readonly fsGroup: number };
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
      readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
      readonly startupProbe?: Probe;
      readonly readinessProbe?: Probe;
      readonly livenessProbe?: Probe;
      readonly resources: { readonly limits: { readonly memory: string } };
    },
  ];
  readonly volumes: readonly {
    readonly name: string;
    readonly emptyDir?: { readonly sizeLimit: string };
    readonly persistentVolumeClaim?: { readonly claimName: string };
    readonly secret?: { readonly defaultMode: number; readonly items: readonly { readonly path: string }[] };
  }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly replicas?: number; readonly template?: { readonly spec: PodSpec } };
}

/** One replica of a Deployment or a Job. */
interface Pod {
  readonly name: string;
  readonly spec: PodSpec;
}

/** The values in the Secret that the operator creates by hand. */
const SECRET_VALUES: Readonly<Record<string, string>> = {
  DATABASE_URL: "postgres://bikeshare:password@postgres:5432/bikeshare",
};

/**
 * Runs the pods in the order in which docs/containers.md applies them, and checks each. @param clone the clone in which the
 * page's commands have created secrets.json
 */
export async function podsRun(
  engine: Engine,
  clone: string,
  images: { postgres: string; valkey: string },
): Promise<void> {
  const manifests = readdirSync(join(clone, "deploy/kubernetes"))
    .flatMap((file) => parseAllDocuments(readFileSync(join(clone, "deploy/kubernetes", file), "utf8")))
    .map((document) => document.toJS() as Manifest);
  const variables = manifests.find(({ kind }) => kind === "ConfigMap")?.data ?? {};
  const start = (pod: Pod) => startPod(engine, pod, variables, join(clone, "secrets.json"));
  const podsOf = (kind: string) => manifests.filter((manifest) => manifest.kind === kind).flatMap(replicasOf);

  await startDatabases(engine, clone, images);
  for (const job of podsOf("Job")) {
    await start(job);
    assert.equal(await engine.run(`docker wait ${job.name}`), "0", await engine.run(`docker logs ${job.name} 2>&1`));
  }
  const pods = podsOf("Deployment");
  for (const pod of pods) await start(pod);
  for (const pod of pods) {
    await answersProbes(engine, pod, 60_000);
    await isConfined(engine, pod.name);
    // Only `migrate` may log this line: the other pods must find nothing to migrate.
    assert.doesNotMatch(await engine.run(`docker logs ${pod.name} 2>&1`), /schema migrated/);
  }
  await backupIsGood(engine, "pod-bikeshare-backup-0");
  for (const pod of pods) await stopsInTime(engine, pod);
}

/** Returns the pods of a Deployment or a Job. */
function replicasOf({ metadata, spec }: Manifest): Pod[] {
  const template = spec?.template;
  if (template === undefined) return [];
  return Array.from({ length: spec?.replicas ?? 1 }, (_, index) => ({
    name: `pod-${metadata.name}-${index}`,
    spec: template.spec,
  }));
}

/**
 * Starts PostgreSQL and Valkey. The service's role is as docs/configuration.md requires: it owns its database and has no
 * other right.
 */
async function startDatabases(
  engine: Engine,
  clone: string,
  { postgres, valkey }: { postgres: string; valkey: string },
): Promise<void> {
  const password = "/run/secrets/postgres-password";
  const script = "make-database.sql";
  await engine.run(`docker network create pods; echo password > ${engine.root}/password
    docker run --detach --name pods-postgres --network pods --network-alias postgres \\
      --env POSTGRES_PASSWORD_FILE=${password} --volume ${engine.root}/password:${password}:ro \\
      --volume ${clone}/deploy/docker/${script}:/docker-entrypoint-initdb.d/${script}:ro ${postgres}
    docker run --detach --name pods-valkey --network pods --network-alias valkey ${valkey}`);
  await engine.until("docker exec pods-postgres pg_isready --host=127.0.0.1", 60_000);
}

/** Starts a pod's container. @param variables those of the ConfigMap @param secrets the path of secrets.json */
async function startPod(
  engine: Engine,
  { name, spec }: Pod,
  variables: Readonly<Record<string, string>>,
  secrets: string,
): Promise<void> {
  const { containers, securityContext: account, volumes } = spec;
  const [container] = containers;
  // A variable without a value comes from the Secret.
  const values = container.env.map((each) => [each.name, each.value ?? SECRET_VALUES[each.name]] as const);
  const options = [`--user ${account.runAsUser}:${account.runAsGroup}`, `--group-add ${account.fsGroup}`];
  options.push(`--memory ${quantity(container.resources.limits.memory)}`);
  for (const [key, value] of Object.entries({ ...variables, ...Object.fromEntries(values) }))
    options.push(`--env ${key}='${value}'`);
  for (const { name: volume, mountPath } of container.volumeMounts) {
    const { emptyDir, persistentVolumeClaim: claim, secret } = volumes.find((each) => each.name === volume) ?? {};
    if (emptyDir !== undefined) {
      options.push(`--tmpfs ${mountPath}:gid=${account.fsGroup},mode=2777,size=${quantity(emptyDir.sizeLimit)}`);
    }
    if (claim !== undefined) {
      const directory = join(engine.root, claim.claimName);
      mkdirSync(directory);
      // Sets owner and mode as a kubelet does for `fsGroup`.
      chownSync(directory, 0, account.fsGroup);
      chmodSync(directory, 0o2775);
      options.push(`--volume ${directory}:${mountPath}`);
    }
    for (const { path } of secret?.items ?? []) {
      // Secrets belong to root and are readable by the group, as with a kubelet.
      const file = join(engine.root, path);
      copyFileSync(secrets, file);
      chownSync(file, 0, account.fsGroup);
      chmodSync(file, secret?.defaultMode ?? 0);
      options.push(`--volume ${file}:${mountPath}/${path}:ro`);
    }
  }
  const rights = "--read-only --cap-drop ALL --security-opt no-new-privileges --network pods";
  await engine.run(
    `docker run --detach --name ${name} ${rights} ${options.join(" ")} bikeshare ${container.args.join(" ")}`,
  );
}

/** Converts a Kubernetes quantity such as 512Mi to Docker's notation. */
function quantity(text: string): string {
  return text.replace(/Mi$/, "m").replace(/Gi$/, "g");
}

/** Returns the address that a probe of a pod requests. */
async function addressOf(
  engine: Engine,
  { name, spec }: Pod,
  probe: "startupProbe" | "readinessProbe" | "livenessProbe",
): Promise<string> {
  const [container] = spec.containers;
  const { path, port } = container[probe]?.httpGet ?? { path: "", port: "" };
  const number = container.ports?.find((each) => each.name === port)?.containerPort;
  const ip = await engine.run(`docker inspect --format '{{.NetworkSettings.Networks.pods.IPAddress}}' ${name}`);
  return `http://${ip}:${number}${path}`;
}

async function answersProbes(engine: Engine, pod: Pod, timeoutMs: number): Promise<void> {
  for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"] as const)
    await engine.until(
      `curl --fail --silent --max-time 2 --output ${engine.root}/answer ${await addressOf(engine, pod, probe)}`,
      timeoutMs,
    );
}

/**
 * Expects that a pod stops before it would be killed. An API pod must first report that it is not ready, and still answer
 * for a while.
 */
async function stopsInTime(engine: Engine, pod: Pod): Promise<void> {
  const ready = await addressOf(engine, pod, "readinessProbe");
  const seconds = pod.spec.terminationGracePeriodSeconds ?? 30;
  await engine.run(`docker kill --signal TERM ${pod.name}`);
  const status = `curl --silent --max-time 2 --output ${engine.root}/answer --write-out '%{http_code}' ${ready}`;
  // Well within DRAIN_DELAY, for which a stopping API process still answers.
  if (pod.spec.containers[0].args.includes("api")) await engine.until(`[ "$(${status})" = 503 ]`, 3000);
  assert.equal(await engine.run(`timeout ${seconds} docker wait ${pod.name}`), "0");
}
