from lodestone_db import main

main()
