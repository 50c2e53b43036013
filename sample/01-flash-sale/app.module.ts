import { Module } from '@nestjs/common';
import { DistributedLockModule, MemoryLockDriver } from 'nestjs-distributed-lock';
import { FlashSaleService } from './flash-sale.service.js';
import { ItemsController } from './items.controller.js';
import { ItemsRepository } from './items.repository.js';
import { ItemsService } from './items.service.js';

/** The memory driver needs nothing installed, and holds inside this one process. */
@Module({
  imports: [DistributedLockModule.forRoot(new MemoryLockDriver())],
  controllers: [ItemsController],
  providers: [ItemsRepository, ItemsService, FlashSaleService],
})
export class AppModule {}
