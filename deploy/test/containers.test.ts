import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readImageNames } from "../containers/images.ts";
import { NOT_RUN, preparations, promises } from "../containers/promises.ts";
import { blocksOf } from "../guide/page.ts";

const deploy = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(deploy, path), "utf8");
const configuration = readFileSync(join(deploy, "../docs/configuration.md"), "utf8");
const page = blocksOf(readFileSync(join(deploy, "../docs/containers.md"), "utf8"));
/**
 * Tells whether docs/configuration.md describes a variable. A test of the server compares this page with the real
 * configuration.
 */
const isVariable = (name: string) => configuration.includes(`\`${name}\``);

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly ports?: readonly { readonly name: string; readonly hostPort?: number }[];
  readonly securityContext: object;
  readonly resources: object;
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly securityContext: object;
    readonly containers: readonly [Container];
    readonly volumes: readonly { readonly secret?: { readonly items: readonly { readonly key: string }[] } }[];
  };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template?: PodTemplate;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly replicas?: number;
  };
}

const manifests = readdirSync(join(deploy, "kubernetes"))
  .flatMap((name) => parseAllDocuments(read(`kubernetes/${name}`)))
  .map((document) => document.toJS() as Manifest);

const templates = manifests.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template]));

describe("the Kubernetes manifests", () => {
  it("are what the schemas of Kubernetes ask for", async () => {
    for (const manifest of manifests) {
      const path = `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`;
      const models = (await import(path)) as Record<string, new (data: object) => { validate(): void }>;
      const Model = models[manifest.kind];
      expect(Model, path).toBeDefined();
      if (Model !== undefined) expect(() => new Model(manifest).validate(), manifest.metadata.name).not.toThrow();
    }
    const kinds = manifests.map(({ kind }) => kind);
    expect(new Set(kinds).size).toBe(7);
  });

  it("are taken in a namespace that enforces the restricted pod security standard", () => {
    for (const { spec } of templates) {
      const [container] = spec.containers;
      expect(spec).not.toHaveProperty("initContainers");
      // Also required: no access to the node's namespaces, and only these kinds of volumes.
      for (const key of ["hostNetwork", "hostPID", "hostIPC", "hostUsers"]) expect(spec).not.toHaveProperty(key);
      for (const volume of spec.volumes) {
        const [kind] = Object.keys(volume).filter((key) => key !== "name");
        expect([
          "configMap",
          "csi",
          "downwardAPI",
          "emptyDir",
          "ephemeral",
          "persistentVolumeClaim",
          "projected",
          "secret",
        ]).toContain(kind);
      }
      for (const port of container.ports ?? []) expect(port).not.toHaveProperty("hostPort");
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 });
      expect(spec.securityContext).not.toHaveProperty("sysctls");
    }
  });

  it("take from the Secret what the page puts into it", () => {
    const commands = page.map((block) => block.commands).join("\n");
    const [, secret = ""] = /kubectl create secret generic (\S+)/.exec(commands) ?? [];
    const made = new Set([...commands.matchAll(/--from-(?:file|literal)=([\w.]+)/g)].map(([, key = ""]) => key));
    for (const { spec } of templates) {
      const taken = spec.containers[0].env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
      expect(new Set(taken.map(({ name }) => name))).toEqual(new Set([secret]));
      const files = spec.volumes.flatMap((volume) => volume.secret?.items ?? []).map(({ key }) => key);
      expect(new Set([...taken.map(({ key }) => key), ...files])).toEqual(made);
    }
  });

  it("run without rights, within limits, and stop in their time", () => {
    expect(templates).toHaveLength(4);
    for (const { spec } of templates) {
      const [container] = spec.containers;
      // The requirements of the "restricted" Pod Security Standard, and a read-only root file system.
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(container.resources).toMatchObject({ limits: { memory: "512Mi" } });
      for (const { name } of container.env) expect(isVariable(name), name).toBe(true);
    }
    for (const name of Object.keys(manifests.find(({ kind }) => kind === "ConfigMap")?.data ?? {}))
      expect(isVariable(name), name).toBe(true);
  });

  it("ask the API where it answers and workers at their metrics, and find their pods", () => {
    const deployments = manifests.filter(({ kind }) => kind === "Deployment");
    for (const { spec } of deployments) {
      const template = spec?.template;
      const [container] = template?.spec.containers ?? [];
      // The pod with a persistent volume has one replica, because only one pod can use the volume.
      const isAlone = template?.spec.volumes.some((volume) => "persistentVolumeClaim" in volume) ?? false;
      expect(spec?.replicas).toBe(isAlone ? 1 : 2);
      expect(template?.spec.terminationGracePeriodSeconds).toBe(40);
      expect(template?.metadata.labels).toMatchObject(spec?.selector?.matchLabels ?? { none: "" });
      const ports = container?.ports?.map(({ name }) => name);
      expect(container?.startupProbe?.httpGet).toEqual({ path: "/readyz", port: ports?.[0] });
      expect(container?.readinessProbe?.httpGet).toEqual({ path: "/readyz", port: ports?.[0] });
      expect(container?.livenessProbe?.httpGet).toEqual({ path: "/healthz", port: ports?.[0] });
      expect(container?.args).toContain(ports?.[0] === "http" ? "api" : "worker");
    }
  });
});

interface Composition {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly read_only?: boolean;
        readonly secrets?: readonly string[];
        readonly depends_on?: Readonly<Record<string, unknown>>;
      }
    >
  >;
  readonly secrets: object;
}

describe("the containers", () => {
  it("are composed of services that exist, with variables that there are and secrets as files", () => {
    const { services, secrets } = parse(read("docker/compose.yaml"), { merge: true }) as Composition;
    expect(Object.keys(services)).toEqual(["api-1", "api-2", "worker", "postgres", "valkey"]);
    for (const name of ["api-1", "api-2", "worker"]) {
      const service = services[name];
      expect(service).toMatchObject({ read_only: true, cap_drop: ["ALL"], stop_grace_period: "40s" });
      expect(service?.command.slice(0, 2)).toEqual(["serve", "--role"]);
      for (const variable of Object.keys(service?.environment ?? {})) expect(isVariable(variable), variable).toBe(true);
      for (const other of Object.keys(service?.depends_on ?? {})) expect(services).toHaveProperty(other);
    }
    for (const { secrets: taken = [] } of Object.values(services))
      for (const name of taken) expect(secrets).toHaveProperty(name);
    // No variable may have a URL with a password, because passwords are in files.
    const values = Object.values(services).flatMap(({ environment = {} }) => Object.values(environment));
    expect(values.filter((value) => /:\/\/[^/]*@/.test(value))).toEqual([]);
  });

  it("have an image that is not root, on the pinned Node, with a health check that Node can parse", () => {
    const dockerfile = read("docker/Dockerfile");
    const [node] = /(?<=^FROM node:)[\d.]+/m.exec(dockerfile) ?? [];
    expect(node).toBe(readFileSync(join(deploy, "../.node-version"), "utf8").trim());
    expect(dockerfile.lastIndexOf("\nUSER 10001:10001")).toBeGreaterThan(dockerfile.lastIndexOf("\nRUN "));
    for (const [, name = ""] of dockerfile.matchAll(/\b([A-Z][A-Z_]+)=/g)) {
      expect(isVariable(name) || /^(NODE|MALLOC)_/.test(name), name).toBe(true);
    }
    const [, command = ""] = /CMD (\[.*fetch.*\])/.exec(dockerfile) ?? [];
    const [, , script = ""] = JSON.parse(command) as string[];
    execFileSync(process.execPath, ["--check", "-"], { input: script, stdio: ["pipe", "pipe", "pipe"] });
    const ignored = read("docker/Dockerfile.dockerignore").split("\n");
    const needed = ignored.filter((line) => line.startsWith("!") && !line.includes("*")).map((line) => line.slice(1));
    for (const path of needed) expect(existsSync(join(deploy, "..", path)), path).toBe(true);
    // The build of the server copies the guides and these examples, so the image build needs them.
    expect(ignored).toContain("!docs/*.md");
    const [, examples = "[]"] =
      /EXAMPLES = (\[.*\])/.exec(readFileSync(join(deploy, "../apps/server/tools/copy-packages.ts"), "utf8")) ?? [];
    expect(needed).toEqual(expect.arrayContaining((JSON.parse(examples) as string[]).map((name) => `deploy/${name}`)));
  });
});

describe("the page on containers", () => {
  it("has commands that `test:containers` runs or says why not, and promises below headings that have commands", () => {
    const headings = new Set(page.map(({ heading }) => heading));
    expect(headings.size).toBeGreaterThan(4);
    for (const name of [NOT_RUN, preparations, promises].flatMap((table) => Object.keys(table)))
      expect(headings, name).toContain(name);
    for (const { commands } of page) execFileSync("bash", ["-n"], { input: commands, stdio: ["pipe", "pipe", "pipe"] });
  });

  it("needs no image that `test:containers` does not make", () => {
    expect(readImageNames()).toEqual({
      node: expect.stringMatching(/^node:24\./) as string,
      postgres: expect.stringMatching(/^postgres:18-/) as string,
      valkey: expect.stringMatching(/^valkey\/valkey:8-/) as string,
    });
  });
});
