"""What moves: the cycle loop, clocks, the simulated kubelet, simulation, scenarios, replay."""
