import "reflect-metadata";
import { Controller, Get, Module, Query } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { InjectRepository, TypeOrmModule } from "@nestjs/typeorm";
import { Column, Entity, PrimaryColumn, Repository } from "typeorm";

/*
 * A peer of the service, with which `pnpm bench read` compares it (reading/peers.ts): NestJS and TypeORM, with an entity,
 * `findAndCount`, and a query builder for the keyset. The argument is the database's address. Prints its own address.
 */
@Entity("rides")
class Ride {
  @PrimaryColumn({ type: "text", select: false }) system_id!: string;
  @PrimaryColumn({ type: "text" }) id!: string;
  @Column({ type: "text" }) bike_id!: string;
  @Column({ type: "text" }) status!: string;
  @Column({ type: "text", nullable: true }) start_station_id!: string | null;
  @Column({ type: "text", nullable: true }) end_station_id!: string | null;
  @Column({ type: "timestamptz" }) started_at!: Date;
  @Column({ type: "timestamptz", nullable: true }) ended_at!: Date | null;
  @Column({ type: "integer", nullable: true }) duration_seconds!: number | null;
  @Column({ type: "integer", nullable: true }) distance_meters!: number | null;
  @Column({ type: "text", nullable: true }) vehicle_type_id!: string | null;
  @Column({ type: "text", nullable: true }) rider_category!: string | null;
  @Column({ type: "text", nullable: true }) end_reason!: string | null;
  @Column({ type: "boolean", nullable: true }) is_countable!: boolean | null;
  @Column({ type: "timestamptz" }) updated_at!: Date;
}

@Controller("rides")
class RidesController {
  constructor(@InjectRepository(Ride) private readonly rides: Repository<Ride>) {}

  @Get("after")
  async after(@Query("started_at") startedAt: string, @Query("id") id: string) {
    const data = await this.rides
      .createQueryBuilder("ride")
      .where("ride.system_id = :system", { system: "main" })
      .andWhere("(ride.started_at, ride.id) < (:startedAt, :id)", { startedAt, id })
      .orderBy("ride.started_at", "DESC")
      .addOrderBy("ride.id", "DESC")
      .limit(50)
      .getMany();
    const last = data.at(-1);
    return { data, next_cursor: Buffer.from(JSON.stringify([last?.started_at, last?.id])).toString("base64url") };
  }

  @Get()
  async page(@Query("page") asked = "1") {
    const page = Number(asked);
    const [data, total] = await this.rides.findAndCount({
      where: { system_id: "main" },
      order: { started_at: "DESC", id: "DESC" },
      skip: (page - 1) * 50,
      take: 50,
    });
    return { data, page, total_pages: Math.ceil(total / 50) };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: "postgres", url: process.argv[2], entities: [Ride], poolSize: 10 }),
    TypeOrmModule.forFeature([Ride]),
  ],
  controllers: [RidesController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ["error"] });
await app.listen(0, "127.0.0.1");
process.stdout.write(`${(await app.getUrl()).replace("[::1]", "127.0.0.1")}\n`);
process.once("SIGTERM", () => process.exit(0));
