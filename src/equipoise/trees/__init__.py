"""Games compiled to frozen arrays, and the kernels that push reach down and values up. Nothing here knows of regret."""
